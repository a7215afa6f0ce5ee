// Power, energy and clocks of whole runs (assumptions.clocks, hardware.power_limit).
#include "catch.hpp"
#include "support/scenarios.hpp"

using namespace takt;

namespace {

const std::string one_card = "llama-3.1-8b-full-1x-h200-nvl";

Overrides on(const std::string& topology, Overrides more = {}) {
  more.push_back({"hardware.topology", topology});
  more.push_back({"hardware.cards", "[0]"});
  return more;
}

RunResult result(const std::string& name, const Overrides& overrides = {}) {
  return test::finished(name, overrides).result;
}

double compute(const Overrides& overrides) {
  return to_seconds(result(one_card, overrides).metrics.breakdown.compute);
}

}  // namespace

TEST_CASE("energy a step, a token and a million tokens say the same", "[scenarios][energy]") {
  const RunResult run = result("llama-3.3-70b-lora-8x-rtx-pro-6000", {test::one_micro_step});
  REQUIRE(run.power.has_value());
  const PowerMetrics& power = *run.power;
  CHECK(power.limit.count() == 600.0);
  CHECK(power.idle.count() == 45.0);
  CHECK(power.watts_per_card.low > 45.0);
  CHECK(power.watts_per_card.high < 600.0);
  const double seconds = to_seconds(run.metrics.step_time);
  CHECK(power.joules_per_step.low == Approx(power.watts_per_card.low * seconds * 8.0));
  CHECK(power.joules_per_step.high == Approx(power.watts_per_card.high * seconds * 8.0));
  const auto tokens = static_cast<double>(run.metrics.tokens_per_step);
  CHECK(power.joules_per_token.high * tokens == Approx(power.joules_per_step.high));
  CHECK(power.kwh_per_million_tokens().high == Approx(power.joules_per_token.high / 3.6));
}

TEST_CASE("a card that mostly computes draws near its limit, one that waits for a link far less",
          "[scenarios][energy]") {
  const auto lowest = [](const std::string& name) {
    const RunResult run = result(name, {test::one_micro_step});
    return run.power->watts_per_card.low / run.power->limit.count();
  };
  CHECK(lowest(one_card) > 0.59);
  CHECK(lowest("llama-3.3-70b-lora-8x-rtx-pro-6000") < 0.9 * lowest(one_card));
}

TEST_CASE("a rank that is slower draws longer: energy is summed over ranks", "[scenarios][energy]") {
  const Overrides straggler = {test::one_micro_step, {"assumptions.stragglers", "{ 1 = 1.5 }"}};
  const RunResult even = result("llama-3.1-8b-full-fsdp2-2x-h200-nvl", {test::one_micro_step});
  const RunResult odd = result("llama-3.1-8b-full-fsdp2-2x-h200-nvl", straggler);
  CHECK(odd.power->joules_per_step.low > even.power->joules_per_step.low);
  CHECK(odd.power->watts_per_card.low < even.power->watts_per_card.low);  // the other one waits
}

TEST_CASE("nobody says what a MIG slice draws of its card", "[scenarios][energy]") {
  CHECK_FALSE(result(one_card, {{"hardware.mig", "3g.71gb"}}).power.has_value());
}

TEST_CASE("a limit of 450 W takes less energy and more time", "[scenarios][energy]") {
  const std::string machine = "2x-rtx-pro-6000-server";
  const RunResult whole = result(one_card, on(machine));
  const RunResult held = result(one_card, on(machine, {{"hardware.power_limit", "450 W"}}));
  CHECK(held.power->limit.count() == 450.0);
  CHECK(held.metrics.step_time > whole.metrics.step_time);
  CHECK(held.power->joules_per_step.high < whole.power->joules_per_step.high);
}

TEST_CASE("sustained clocks slow products down, but not on top of what steps show", "[scenarios][clocks]") {
  const Override sustained = {"assumptions.clocks", "sustained"}, alone = {"assumptions.in_situ", "false"};
  const std::string workstation = "2x-rtx-pro-6000-workstation", server = "2x-rtx-pro-6000-server";
  // 1 / 0.832 for products that run alone, which is more than what steps show on Blackwell
  const double slower = compute(on(workstation, {sustained, alone})) / compute(on(workstation, {alone}));
  CHECK(slower > 1.12);
  CHECK(slower < 1 / 0.832);
  CHECK(compute(on(workstation, {sustained})) > compute(on(workstation)));
  // 1 / 0.919 = 1.088 is less than the constant of steps
  CHECK(compute(on(server, {sustained})) == compute(on(server)));
  CHECK(compute(on(server, {sustained, alone})) > compute(on(server, {alone})));
}

TEST_CASE("a clock that nobody measured is told where it is asked for", "[scenarios][clocks]") {
  const SourceText source = read_text_file(test::source_dir() + "/scenarios/" + one_card + ".toml").value();
  Library library(search_path(nullptr));
  CHECK(render(prepare(source, {{"assumptions.clocks", "sustained"}}, library).diagnostics()) ==
        "command line: error: nobody measured which clock NVIDIA H200 NVL keeps up\n"
        "      | assumptions.clocks=sustained\n"
        "      |                    ^\n"
        "hint: leave assumptions.clocks out, or add `sustained` to the card's file\n");
}
