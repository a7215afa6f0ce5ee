// takt explain, from the command line.
#include "command_line.hpp"

#include "catch.hpp"
#include "config/json.hpp"
#include "support/source_dir.hpp"

#include <map>
#include <sstream>

using namespace takt;

namespace {

struct Outcome {
  ExitStatus status = ExitStatus::done;
  std::string out, err;
};

Outcome explain(std::vector<std::string> words) {
  words.insert(words.begin(), "explain");
  std::ostringstream out, err;
  const ExitStatus status = run_command_line(words, {out, err});
  return {status, out.str(), err.str()};
}

const std::string pcie = takt::test::source_dir() + "/scenarios/llama-3.3-70b-lora-8x-rtx-pro-6000.toml";
const std::string one_card = takt::test::source_dir() + "/scenarios/llama-3.1-8b-full-1x-h200-nvl.toml";

Json explained(std::vector<std::string> words) {
  words.insert(words.end(), {"--set", "batch.gradient_accumulation=1", "--format", "json"});
  const Outcome outcome = explain(words);
  INFO(outcome.err);
  REQUIRE(outcome.status == ExitStatus::done);
  return parse_json({"out.json", outcome.out}).value();
}

double number(const Json& object, const std::string& key) { return std::get<double>(object.find(key)->value); }

/// Changes by the name under `key`.
std::map<std::string, double> changes(const Json& list, const std::string& key) {
  std::map<std::string, double> all;
  for (const Json& entry : std::get<Json::Array>(list.value)) {
    all[std::get<std::string>(entry.find(key)->value)] = number(entry, "change");
  }
  return all;
}

}  // namespace

TEST_CASE("explain: on PCIe more of what NCCL's kernels reach helps, more compute hardly", "[tools]") {
  // Short sequences: gathers weigh more than products.
  const Json json = explained({pcie, "--set", "batch.sequence_length=2048"});
  const std::map<std::string, double> change = changes(*json.find("sensitivities"), "resource");
  CHECK(change.at("NCCL's own limits") < -0.05);
  CHECK(change.at("NCCL's own limits") >= -1.0 + 1.0 / 1.1);   // no resource gives more than it is
  CHECK(change.at("compute") > change.at("NCCL's own limits"));
  double blamed = 0.0;
  for (const Json& entry : std::get<Json::Array>(json.find("blame")->value)) blamed += number(entry, "share");
  CHECK(blamed == Approx(1.0));
}

TEST_CASE("explain: one card that computes gains a tenth from faster kernels", "[tools]") {
  const std::map<std::string, double> change = changes(*explained({one_card}).find("sensitivities"), "resource");
  CHECK(change.at("compute") == Approx(1.0 / 1.1 - 1.0).margin(0.002));
}

TEST_CASE("explain --assumptions leaves out what means nothing to a scenario", "[tools]") {
  const Json json = explained({"--assumptions", one_card, pcie});
  const Json::Array& results = std::get<Json::Array>(json.find("results")->value);
  REQUIRE(results.size() == 2);
  const std::map<std::string, double> alone = changes(*results[0].find("assumptions"), "setting");
  const std::map<std::string, double> sharded = changes(*results[1].find("assumptions"), "setting");
  CHECK(alone.count("parallel.prefetch = 0") == 0);
  CHECK(alone.count("assumptions.compute = peak") == 1);
  CHECK(sharded.at("parallel.prefetch = 0") > 0.0);
  CHECK(sharded.at("assumptions.nccl_limits = false") < 0.0);
  CHECK(sharded.at("assumptions.stragglers = { 0 = 1.1 }") > 0.0);
}

TEST_CASE("explain needs one scenario, or several with --assumptions", "[tools]") {
  CHECK(explain({}).status == ExitStatus::wrong_usage);
  CHECK(explain({one_card, pcie}).status == ExitStatus::wrong_usage);
  CHECK(explain({"--assumptions"}).status == ExitStatus::wrong_usage);
  CHECK(explain({one_card, "--set", "oops"}).status == ExitStatus::wrong_usage);
  const Outcome missing = explain({"no-such.toml"});
  CHECK(missing.status == ExitStatus::invalid);
  CHECK(missing.err.find("no-such.toml") != std::string::npos);
  const Outcome rank = explain({one_card, "--set", "assumptions.stragglers.5=1.2"});
  CHECK(rank.status == ExitStatus::invalid);
  CHECK(rank.err.find("rank 5 does not exist: 1 take part") != std::string::npos);
}
