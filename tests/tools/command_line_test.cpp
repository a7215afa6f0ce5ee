#include "command_line.hpp"

#include "catch.hpp"
#include "support/command.hpp"
#include "commands.hpp"

#include <sstream>

using namespace takt;
using takt::test::has;
using takt::test::Outcome;
using takt::test::takt_command;

TEST_CASE("help and version go to standard output", "[tools]") {
  REQUIRE(has(takt_command({"--version"}).out, "takt 0."));
  const Outcome help = takt_command({"--help"});
  REQUIRE(help.status == ExitStatus::done);
  for (const Command& command : commands()) REQUIRE(has(help.out, "takt " + command.name));
}

TEST_CASE("every command explains itself with an example", "[tools]") {
  for (const Command& command : commands()) {
    std::vector<std::string> words;
    std::istringstream name(command.name);
    for (std::string word; name >> word;) words.push_back(word);
    words.push_back("--help");
    const Outcome outcome = takt_command(words);
    CAPTURE(command.name, outcome.out);
    REQUIRE(outcome.status == ExitStatus::done);
    REQUIRE(has(outcome.out, "usage: takt " + command.name));
    REQUIRE(has(outcome.out, "example\n  " + command.example));
    for (const Option& option : command.options) REQUIRE(has(outcome.out, "--" + option.name));
  }
}

TEST_CASE("wrong usage is status 2, with a hint", "[tools]") {
  struct Case {
    std::vector<std::string> words;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{"rnu"}, "error: unknown command 'rnu'\nhint: did you mean 'takt run'?\n"},
      {{"frobnicate"}, "error: unknown command 'frobnicate'\nhint: see takt --help\n"},
      {{"topo"}, "error: 'takt topo' needs one of: show, check, import, export, measure-compare\n"},
      {{"topo", "shwo"}, "error: unknown command 'topo shwo'\nhint: did you mean 'takt topo show'?\n"},
      {{"run", "--formt", "json"}, "error: unknown option --formt\nhint: did you mean --format?\n"},
      {{"run", "x.toml", "--form", "json"}, "error: unknown option --form\nhint: did you mean --format?\n"},
      {{"run", "x.toml", "--format", "jsn"}, "error: --format cannot be 'jsn'\nhint: did you mean json?\n"},
      {{"run", "x.toml", "--format"}, "error: --format needs a value\nhint: see --help\n"},
      {{"run", "x.toml", "--format=csv", "--format=csv"}, "error: --format is given twice\n"},
      {{"run"}, "error: takt run needs a scenario\nhint: see takt run --help\n"},
      {{"run", "x.toml", "--set", "batch"},
       "error: --set needs KEY=VALUE, not 'batch'\nhint: for example batch.micro_batch=2\n"},
      {{"run", "x.toml", "--threads", "0"}, "error: --threads cannot be '0'\nhint: give a whole number from 1\n"},
      {{"run", "a.toml", "b.toml", "--trace", "t.json"}, "error: --trace is for one scenario at a time\n"},
      {{"run", "a.toml", "b.toml", "--timeline", "t.svg"}, "error: --timeline is for one scenario at a time\n"},
      {{"run", "x.toml", "--iterations", "0"}, "error: --iterations cannot be '0'\nhint: give a whole number from 1\n"},
      {{"compare", "a.toml"}, "error: takt compare needs two to four scenarios\nhint: see takt compare --help\n"},
      {{"check"}, "error: takt check needs a scenario, or --keys\nhint: see takt check --help\n"},
      {{"completion", "fish"}, "error: takt completion knows one shell: bash\n"},
  };
  for (const Case& c : cases) {
    const Outcome outcome = takt_command(c.words);
    CHECK(outcome.err == c.message);
    CHECK(outcome.status == ExitStatus::wrong_usage);
    CHECK(outcome.out.empty());
  }
}

TEST_CASE("a missing scenario is status 1", "[tools]") {
  const Outcome outcome = takt_command({"run", "no-such-scenario.toml"});
  REQUIRE(outcome.status == ExitStatus::invalid);
  REQUIRE(has(outcome.err, "no-such-scenario.toml"));
  REQUIRE(outcome.out.empty());
}

TEST_CASE("the completion script knows every command and option", "[tools]") {
  const std::string script = takt_command({"completion", "bash"}).out;
  REQUIRE(has(script,
              "run compare sweep merge check fit topo collective kernel validate calibrate import explain completion --help "
              "--version"));
  REQUIRE(has(script, "--format) COMPREPLY=($(compgen -W \"table json csv\""));
  REQUIRE(has(script, "complete -o filenames -F _takt takt\n"));
}

TEST_CASE("takt kernel prices one kernel and needs a card", "[tools]") {
  const Outcome gemm = takt_command({"kernel", "gemm", "8192", "8192", "8192", "--card", "h200-nvl"});
  REQUIRE(gemm.status == ExitStatus::done);
  CHECK(has(gemm.out, "NVIDIA H200 NVL: GEMM model fitted to measurements of h200-sxm, scaled"));
  CHECK(has(gemm.out, "compute"));
  const Outcome nowhere = takt_command({"kernel", "gemm", "1", "2", "3"});
  CHECK(nowhere.status == ExitStatus::wrong_usage);
  CHECK(nowhere.err == "error: takt kernel needs a card\nhint: --card h200-nvl\n");
}

TEST_CASE("takt calibrate refuses what it cannot fit", "[tools]") {
  CHECK(takt_command({"calibrate"}).status == ExitStatus::wrong_usage);
  const Outcome missing = takt_command({"calibrate", "no-such-file.csv"});
  CHECK(missing.status == ExitStatus::invalid);
  CHECK(has(missing.err, "no-such-file.csv"));
}
