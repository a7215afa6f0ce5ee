// takt run --memory, what makes a run fit, and takt validate --memory.
#include "catch.hpp"
#include "support/command.hpp"
#include "command_line.hpp"
#include "config/json.hpp"
#include "support/source_dir.hpp"

#include <sstream>

using namespace takt;
using takt::test::has;
using takt::test::Outcome;
using takt::test::takt_command;

namespace {

const std::string one_card = takt::test::source_dir() + "/scenarios/llama-3.1-8b-full-1x-h200-nvl.toml";

Json memory_of(const std::string& results) {
  const Result<Json> parsed = parse_json({"out", results});
  REQUIRE(parsed);
  return *std::get<Json::Array>(parsed->find("results")->value).front().find("memory");
}

std::int64_t bytes(const Json& object, const std::string& key) {
  return std::get<std::int64_t>(object.find(key)->value);
}

/// Far too much for a card: whole activations of two sequences.
std::vector<std::string> too_big(const std::vector<std::string>& more) {
  std::vector<std::string> words = {
      "run", one_card, "--set", "batch.micro_batch=2", "--set", "finetune.activation_checkpointing=none"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("takt run --memory tells the peak of each phase and what else the card holds", "[tools]") {
  const Outcome outcome = takt_command({"run", one_card, "--memory"});
  REQUIRE(outcome.status == ExitStatus::done);
  INFO(outcome.out);
  CHECK(has(outcome.out, "memory of rank 0 over the step"));
  for (const char* row :
       {"\n  forward ", "\n  backward ", "\n  optimizer ", "reserved by the allocator", "NCCL buffers"}) {
    CHECK(has(outcome.out, row));
  }
  CHECK_FALSE(has(takt_command({"run", one_card}).out, "reserved by the allocator"));
}

TEST_CASE("a run that does not fit says by how much and which single changes make it fit", "[tools]") {
  const Outcome outcome = takt_command(too_big({}));
  INFO(outcome.out);
  CHECK(outcome.status == ExitStatus::done);
  CHECK(has(outcome.err, "too few"));
  CHECK(has(outcome.out, " too much for a card"));
  CHECK(has(outcome.out, "single changes, each tried by a run"));
  CHECK(has(outcome.out, "  micro-batch 1, as many tokens a step"));
  CHECK(takt_command(too_big({"--require-fit"})).status == ExitStatus::invalid);
}

TEST_CASE("each change in JSON is what a run with its keys gives", "[tools]") {
  const Json memory = memory_of(takt_command(too_big({"--format", "json"})).out);
  CHECK(bytes(memory, "over_bytes") == bytes(memory, "peak_bytes") - bytes(memory, "capacity_bytes"));
  const auto& changes = std::get<Json::Array>(memory.find("changes")->value);
  REQUIRE(changes.size() >= 3);
  std::size_t fitting = 0;
  for (const Json& change : changes) {
    std::vector<std::string> words = {"--format", "json"};
    for (const JsonMember& key : std::get<Json::Object>(change.find("set")->value)) {
      words.insert(words.end(), {"--set", key.key + "=" + std::get<std::string>(key.value.value)});
    }
    const Json tried = memory_of(takt_command(too_big(words)).out);
    CHECK(bytes(tried, "peak_bytes") == bytes(change, "peak_bytes"));
    CHECK(tried.find("fits")->value == change.find("fits")->value);
    if (std::get<bool>(change.find("fits")->value)) ++fitting;
  }
  CHECK(fitting > 0);
}

TEST_CASE("takt validate --memory holds its recorded bounds", "[tools]") {
  const Outcome outcome = takt_command({"validate", "--memory"});
  INFO(outcome.err);
  CHECK(outcome.status == ExitStatus::done);
  CHECK(has(outcome.out, "fms-acceleration: median "));
  CHECK(has(outcome.out, "all others: median "));
  CHECK(has(outcome.out, "FA0288 "));
}
