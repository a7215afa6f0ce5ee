// The same bytes for any number of threads and however often.
#include "catch.hpp"
#include "report/report.hpp"
#include "support/scenarios.hpp"

using namespace takt;

namespace {

std::string json(const FinishedRun& run) {
  const std::vector<RunResult> results = {run.result};
  return results_json(results);
}

}  // namespace

TEST_CASE("results do not depend on the number of threads", "[scenarios]") {
  const auto two_threads = make_tbb_executor(2);
  for (const std::string& name : test::scenario_names()) {
    DYNAMIC_SECTION(name) {
      const std::string serial = json(test::finished(name, {test::one_micro_step}));
      REQUIRE(json(test::finished(name, {test::one_micro_step}, {.executor = two_threads.get()})) == serial);
      REQUIRE(json(test::finished(name, {test::one_micro_step})) == serial);
    }
  }
}

TEST_CASE("recording rates for a trace does not change the result", "[scenarios]") {
  const std::string name = "llama-3.3-70b-lora-8x-rtx-pro-6000";
  const FinishedRun recorded = test::finished(name, {test::one_micro_step}, {.record_rates = true});
  REQUIRE_FALSE(recorded.timeline.rates.empty());
  REQUIRE(json(recorded) == json(test::finished(name, {test::one_micro_step})));
}
