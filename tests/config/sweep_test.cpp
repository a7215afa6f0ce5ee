// Sweep files: axes, their order, ranges, overrides that add axes, and the scenarios that come of them.
#include "catch.hpp"
#include "config/reader.hpp"
#include "config/sweep_document.hpp"
#include "config/toml_text.hpp"

#include <set>

using namespace takt;

namespace {

const std::string base = "[hardware]\ntopology = \"box\"\n[model]\nname = \"m\"\n";

SweepDocument sweep(const std::string& more, const Overrides& overrides = {}) {
  const Result<SweepDocument> read = parse_sweep({"s.toml", base + more}, overrides);
  INFO(render(read.diagnostics()));
  REQUIRE(read.has_value());
  return *read;
}

/// The values of a one-axis sweep as TOML.
std::vector<std::string> values(const std::string& value) {
  const SweepDocument read = sweep("[sweep]\n\"batch.micro_batch\" = " + value + "\n");
  std::vector<std::string> texts;
  for (std::uint64_t point = 0; point < read.points; ++point) texts.push_back(toml_value(*read.values(point).front()));
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("points are all combinations in the order of the file, the last axis fastest", "[config][sweep]") {
  const SweepDocument read = sweep(
      "[sweep]\n\"batch.sequence_length\" = [512, 1024]\n"
      "\"batch.micro_batch\" = [1, 2, 4]\n");
  REQUIRE(read.points == 6);
  REQUIRE(read.keys() == Texts{"batch.sequence_length", "batch.micro_batch"});  // not by name
  const Scenario fourth = read.scenario(3).value();
  CHECK(fourth.batch.sequence_length == 1024);
  CHECK(fourth.batch.micro_batch == 1);
  CHECK(read.scenario(5)->batch.micro_batch == 4);
  std::set<std::uint64_t> hashes;
  for (std::uint64_t point = 0; point < read.points; ++point) hashes.insert(read.scenario(point)->hash);
  CHECK(hashes.size() == 6);
}

TEST_CASE("a point is the scenario that says the same", "[config][sweep]") {
  const SweepDocument read = sweep("[sweep]\n\"batch.micro_batch\" = [1, 2]\nfinetune.method = [\"lora\"]\n");
  const Scenario plain =
      read_scenario({"s.toml", base + "[finetune]\nmethod = \"lora\"\n[batch]\nmicro_batch = 2\n"}).value();
  CHECK(read.scenario(1)->hash == plain.hash);
}

TEST_CASE("zipped keys go together", "[config][sweep]") {
  const SweepDocument read = sweep(
      "[sweep]\n\"batch.sequence_length\" = [512, 1024]\n"
      "[[sweep.zip]]\n\"model.name\" = [\"a\", \"b\"]\n\"hardware.cards\" = [[0, 1], \"all\"]\n"
      "\"parallel.strategy\" = [\"ddp\", \"fsdp2\"]\n");
  REQUIRE(read.points == 4);
  const Scenario last = read.scenario(3).value();
  CHECK(last.model == "b");
  CHECK(last.cards.empty());
  CHECK(read.scenario(2)->model == "a");
  CHECK(read.scenario(2)->cards == std::vector<std::int64_t>{0, 1});
}

TEST_CASE("ranges", "[config][sweep]") {
  CHECK(values("{ from = 1, to = 7, step = 2 }") == Texts{"1", "3", "5", "7"});
  CHECK(values("{ from = 8, to = 1, step = -3 }") == Texts{"8", "5", "2"});
  CHECK(values("{ from = 1, to = 20, factor = 2 }") == Texts{"1", "2", "4", "8", "16"});
  CHECK(values("{ from = 16, to = 4, factor = 0.5 }") == Texts{"16", "8", "4"});
  CHECK(values("{ from = 10, to = 20, count = 3 }") == Texts{"10", "15", "20"});
  // 1, 10^0.5, 10, 10^1.5, 100 as whole numbers
  CHECK(values("{ from = 1, to = 100, count = 5, scale = \"log\" }") == Texts{"1", "3", "10", "32", "100"});
  // Equal ones once.
  CHECK(values("{ from = 1, to = 3, count = 5 }") == Texts{"1", "2", "3"});
}

TEST_CASE("whole ends of a key that takes any number do not make its range whole", "[config][sweep]") {
  const SweepDocument read = sweep("[sweep]\n\"assumptions.sm_slowdown\" = { from = 1, to = 2, count = 5 }\n");
  Texts texts;
  for (std::uint64_t point = 0; point < read.points; ++point) texts.push_back(toml_value(*read.values(point).front()));
  CHECK(texts == Texts{"1", "1.25", "1.5", "1.75", "2"});
}

TEST_CASE("ranges of other numbers and of quantities have no digits of rounding", "[config][sweep]") {
  const SweepDocument read = sweep(
      "[sweep]\n\"assumptions.hbm_traffic_factor\" = { from = 0.1, to = 0.4, step = 0.1 }\n"
      "\"assumptions.kernel_launch\" = { from = \"1 us\", to = \"2 us\", count = 4 }\n");
  Texts texts;
  for (std::uint64_t point = 0; point < read.points; point += 5) {
    for (const Node* value : read.values(point)) texts.push_back(toml_value(*value));
  }
  CHECK(texts ==
        Texts{"0.1", "\"1 us\"", "0.2", "\"1.33333333333 us\"", "0.3", "\"1.66666666667 us\"", "0.4", "\"2 us\""});
}

TEST_CASE("overrides add axes, replace them, or fix their key", "[config][sweep]") {
  const std::string file = "[sweep]\n\"batch.micro_batch\" = [1, 2, 4]\n";
  const SweepDocument more = sweep(file, {{"batch.sequence_length", "[512, 1024]"}});
  CHECK(more.points == 6);
  const SweepDocument other = sweep(file, {{"batch.micro_batch", "{ from = 1, to = 16, factor = 4 }"}});
  CHECK(other.points == 3);
  CHECK(other.scenario(2)->batch.micro_batch == 16);
  const SweepDocument fixed = sweep(file, {{"batch.micro_batch", "8"}, {"batch.sequence_length", "[512, 1024]"}});
  CHECK(fixed.points == 2);
  CHECK(fixed.scenario(0)->batch.micro_batch == 8);
  CHECK(sweep(file, {{"sweep.skip_unfit", "true"}}).unfit == Unfit::skip);
}

TEST_CASE("a list for a key that takes lists is a value, a list of lists an axis", "[config][sweep]") {
  const std::string file = "[sweep]\n\"batch.micro_batch\" = [1, 2]\n[parallel]\nstrategy = \"ddp\"\n";
  const SweepDocument value = sweep(file, {{"hardware.cards", "[0, 1]"}});
  CHECK(value.points == 2);
  CHECK(value.scenario(0)->cards.size() == 2);
  CHECK(sweep(file, {{"hardware.cards", "[[0, 1], \"all\"]"}}).points == 4);
}

TEST_CASE("a million points take no memory and no time", "[config][sweep]") {
  const SweepDocument read = sweep(
      "[sweep]\n\"batch.micro_batch\" = { from = 1, to = 1000, step = 1 }\n"
      "\"batch.sequence_length\" = { from = 1, to = 1000, step = 1 }\n");
  REQUIRE(read.points == 1'000'000);
  const Scenario last = read.scenario(999'999).value();
  CHECK(last.batch.micro_batch == 1000);
  CHECK(last.batch.sequence_length == 1000);
}

TEST_CASE("a combination that no scenario may have is an error of its point, placed at the value", "[config][sweep]") {
  const SweepDocument read = sweep(
      "[parallel]\nsharding = \"hybrid\"\n"
      "[sweep]\n\"parallel.strategy\" = [\"fsdp2\", \"ddp\"]\n");
  CHECK(read.scenario(0).has_value());
  const Result<Scenario> bad = read.scenario(1);
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.diagnostics().front().place.line == 6);
}

TEST_CASE("hardware changes are part of the scenario, its hash and its text", "[config][sweep]") {
  const SweepDocument read = sweep(
      "[sweep]\n\"hardware.link.pcie5-x16.effective\" = { from = \"20 GB/s\", to = \"60 GB/s\", step = \"20 GB/s\" "
      "}\n");
  REQUIRE(read.points == 3);
  const Scenario second = read.scenario(1).value();
  REQUIRE(second.hardware_changes.links.size() == 1);
  CHECK(second.hardware_changes.links.front().key == "pcie5-x16.effective");
  CHECK(second.hash != read.scenario(0)->hash);
  const Scenario again = read_scenario({"again.toml", write_scenario(second)}).value();
  CHECK(again.hash == second.hash);
}
