// Runs on MIG slices and under power limits (hardware.mig, hardware.power_limit).
#include "catch.hpp"
#include "support/scenarios.hpp"

using namespace takt;

namespace {

const std::string one_card = "llama-3.1-8b-full-1x-h200-nvl";

double seconds(const FinishedRun& run) {
  return to_seconds(run.result.metrics.step_time);
}

}  // namespace

TEST_CASE("a slice is slower by its share of SMs and memory bandwidth, and has its share of memory", "[scenarios]") {
  const FinishedRun whole = test::finished(one_card);
  const FinishedRun slice = test::finished(one_card, {{"hardware.mig", "3g.71gb"}});
  // 56 of 132 SMs: what is bound by compute takes 132 / 56 = 2.36 times as long; half the bandwidth: twice
  CHECK(seconds(slice) / seconds(whole) > 1.9);
  CHECK(seconds(slice) / seconds(whole) < 2.45);
  CHECK(slice.result.metrics.memory.nominal == Bytes(71'000'000'000));
  CHECK_FALSE(slice.result.metrics.memory.fits);
  const FinishedRun all = test::finished(one_card, {{"hardware.mig", "7g.141gb"}});
  CHECK(all.result.metrics.step_time == whole.result.metrics.step_time);
}

TEST_CASE("a power limit slows compute more than memory", "[scenarios]") {
  const Overrides workstation = {{"hardware.topology", "2x-rtx-pro-6000-workstation"}, {"hardware.cards", "[0]"}};
  const auto limited = [&](const std::string& watts) {
    Overrides overrides = workstation;
    overrides.push_back({"hardware.power_limit", watts});
    return test::finished(one_card, overrides);
  };
  const FinishedRun whole = test::finished(one_card, workstation), half = limited("300 W");
  CHECK(limited("600 W").result.metrics.step_time == whole.result.metrics.step_time);
  const auto slower = [](Duration with, Duration without) { return to_seconds(with) / to_seconds(without); };
  // the optimizer is bound by memory: 1 / 0.9391; products by compute: 1 / 0.5227
  const Breakdown& fast = whole.result.metrics.breakdown;
  const Breakdown& slow = half.result.metrics.breakdown;
  CHECK(slower(slow.optimizer, fast.optimizer) == Approx(1 / 0.9391).epsilon(0.01));
  CHECK(slower(slow.compute, fast.compute) > 1.4);
  CHECK(slower(slow.compute, fast.compute) < 1 / 0.5227);
}

TEST_CASE("a slice that the card does not have, and a limit that nobody measured, are told where they are asked for",
          "[scenarios]") {
  const auto message = [](const Override& override) {
    const SourceText source = read_text_file(test::source_dir() + "/scenarios/" + one_card + ".toml").value();
    Library library(search_path(nullptr));
    return render(prepare(source, {override}, library).diagnostics());
  };
  CHECK(message({"hardware.mig", "1g.18g"}) ==
        "command line: error: NVIDIA H200 NVL has no MIG profile \"1g.18g\"\n"
        "      | hardware.mig=1g.18g\n"
        "      |              ^\n"
        "hint: did you mean \"1g.18gb\"?\n");
  CHECK(message({"hardware.power_limit", "400 W"}).find("nobody measured NVIDIA H200 NVL under a power limit") !=
        std::string::npos);
}
