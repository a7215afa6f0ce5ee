// takt run on files of jobs.
#include "command_line.hpp"

#include "catch.hpp"
#include "support/command.hpp"
#include "config/json.hpp"
#include "support/source_dir.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace takt;
using takt::test::has;
using takt::test::Outcome;
using takt::test::takt_command;

namespace {

std::string scenarios() {
  return test::source_dir() + "/scenarios/";
}

/// A member of each job of a JSON result.
std::vector<double> numbers(const Outcome& outcome, const std::string& key) {
  REQUIRE(outcome.status == ExitStatus::done);
  const Json json = parse_json({"result", outcome.out}).value();
  std::vector<double> values;
  for (const Json& job : std::get<Json::Array>(json.find("jobs")->value)) {
    values.push_back(std::get<double>(job.find(key)->value));
  }
  return values;
}

/// A file of jobs that is gone when the test is over.
class TemporaryJobs {
 public:
  explicit TemporaryJobs(const std::string& text)
      : path_((std::filesystem::temp_directory_path() / "takt_jobs_test.toml").string()) {
    std::ofstream(path_) << text;
  }
  ~TemporaryJobs() { std::filesystem::remove(path_); }
  TemporaryJobs(const TemporaryJobs&) = delete;
  TemporaryJobs& operator=(const TemporaryJobs&) = delete;

  Outcome run() const { return takt_command({"run", path_}); }

 private:
  std::string path_;
};

std::string job(const std::string& scenario, const std::string& rest) {
  return "[[job]]\nscenario = \"" + scenarios() + scenario + "\"\n" + rest + "\n";
}

const std::string pcie = "[hardware]\ntopology = \"8x-rtx-pro-6000-server-4-switches\"\n";

}  // namespace

TEST_CASE("the files of jobs run, and no job is faster beside others", "[tools][jobs]") {
  for (const auto& entry : std::filesystem::directory_iterator(scenarios() + "jobs")) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    const Outcome outcome = takt_command({"run", entry.path().string(), "--format", "json"});
    CHECK(outcome.status == ExitStatus::done);
    if (!has(outcome.out, "takt.jobs/1")) continue;  // a scenario that the files of jobs name
    for (const double slowdown : numbers(outcome, "slowdown")) CHECK(slowdown > 0.999);
  }
}

TEST_CASE("runs on two bridges keep to them, fast runs on the halves of a PCIe server do not", "[tools][jobs]") {
  const auto slowdowns = [](const std::string& name, std::vector<std::string> settings) {
    std::vector<std::string> words{"run", scenarios() + "jobs/" + name, "--format", "json"};
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    return numbers(takt_command(words), "slowdown");
  };
  for (const double slowdown : slowdowns("two-bridges-8x-h200-nvl.toml", {})) CHECK(slowdown < 1.001);
  // NCCL's own limit binds first; with it lifted the sockets do.
  for (const double slowdown : slowdowns("two-halves-8x-rtx-pro-6000.toml", {})) CHECK(slowdown < 1.001);
  for (const double slowdown : slowdowns("two-halves-8x-rtx-pro-6000.toml",
                                         {"nccl.p2p_level=SYS", "nccl.min_nchannels=8"})) {
    CHECK(slowdown > 1.1);
  }
}

TEST_CASE("copies take the next cards, slices fill a card first", "[tools][jobs]") {
  const Outcome outcome = TemporaryJobs(pcie + job("jobs/qlora-8b-slice.toml", "cards = [2]\ncopies = 5")).run();
  CHECK(outcome.status == ExitStatus::done);
  CHECK(has(outcome.out, "qlora-8b-slice 4  2"));
  CHECK(has(outcome.out, "qlora-8b-slice 5  3"));
}

TEST_CASE("jobs that cannot run together are refused with the place", "[tools][jobs]") {
  const auto refused = [](const std::string& text, const std::string& message) {
    const Outcome outcome = TemporaryJobs(text).run();
    CAPTURE(outcome.err);
    CHECK(outcome.status == ExitStatus::invalid);
    CHECK(has(outcome.err, message));
    CHECK(has(outcome.err, ".toml:"));
    CHECK(outcome.out.empty());
  };
  refused(pcie + job("jobs/qlora-8b.toml", "cards = [0]") + job("jobs/qlora-8b.toml", "name = \"other\"\ncards = [0]"),
          "card 0 is taken by qlora-8b and by other");
  refused(pcie + job("jobs/qlora-8b-slice.toml", "cards = [0]\ncopies = 4") + job("jobs/qlora-8b-slice.toml", "cards = [0]"),
          "card 0 is cut into 5 compute slices, but it has 4");
  refused(pcie + job("jobs/qlora-8b.toml", "cards = [7]\ncopies = 2"), "card");
  refused(pcie + "[[job]]\nscenario = \"no-such.toml\"\n", "the scenario no-such.toml cannot be read");
  refused(pcie + "[[job]]\nscenarios = \"x.toml\"\n", "unknown key \"scenarios\" in job[0]");
  refused(pcie + job("jobs/qlora-8b.toml", "cards = [0]\nset = { batch.micro_bath = 2 }"), "micro_bath");
  refused(pcie + job("jobs/qlora-8b.toml", "cards = [0]") +
              job("jobs/qlora-8b.toml", "cards = [1]\nset = { assumptions.links = \"nominal\" }"),
          "disagree about the machine that they share");
}

TEST_CASE("a file of jobs takes no trace", "[tools][jobs]") {
  const std::string file = scenarios() + "jobs/two-bridges-8x-h200-nvl.toml";
  CHECK(takt_command({"run", file, "--trace", "x.json"}).status == ExitStatus::wrong_usage);
  CHECK(takt_command({"run", file, file}).status == ExitStatus::wrong_usage);
}
