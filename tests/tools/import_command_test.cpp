// takt import as a user types it.
#include "command_line.hpp"

#include "catch.hpp"
#include "support/command.hpp"
#include "commands.hpp"
#include "support/source_dir.hpp"

#include <sstream>

using namespace takt;
using takt::test::has;
using takt::test::Outcome;
using takt::test::takt_command;

namespace {

std::string data(const std::string& name) {
  return test::source_dir() + "/tests/config/import/data/" + name;
}

}  // namespace

TEST_CASE("what the files do not say is asked for", "[tools][import]") {
  const Outcome outcome = takt_command({"import", data("trainer/ddp-lora.json")});
  CHECK(outcome.status == ExitStatus::done);
  CHECK(has(outcome.out, "# hardware.topology is missing"));
  CHECK(has(outcome.out, "# model.name is missing: no file names the model"));
}


TEST_CASE("cards without a strategy share as the Trainer does", "[tools][import]") {
  const Outcome outcome = takt_command({"import", data("trainer/ddp-lora.json"), data("peft/mistral-qv.json"), "--cards",
                                        "4", "--topology", "8x-h200-nvl"});
  CHECK(outcome.err == "");
  CHECK(outcome.status == ExitStatus::done);
  CHECK(has(outcome.out, "cards = [0, 1, 2, 3]"));
  CHECK(has(outcome.out, "strategy = \"ddp\""));
  CHECK(has(outcome.out, "name = \"mistral-7b-v0.1\""));
}

TEST_CASE("a machine with too few cards or a wrong number is refused", "[tools][import]") {
  CHECK(takt_command({"import"}).status == ExitStatus::wrong_usage);
  CHECK(takt_command({"import", data("trainer/ddp-lora.json"), "--cards", "none"}).status == ExitStatus::wrong_usage);
  CHECK(takt_command({"import", data("no-such-file.json")}).status == ExitStatus::invalid);
  CHECK(takt_command({"import", data("broken/dora.json")}).status == ExitStatus::invalid);
}
