// Joining kernels into segments changes the answer by at most 0.7 % of the step, on every scenario (DESIGN section 2).
#include "catch.hpp"
#include "support/scenarios.hpp"

#include <cmath>

using namespace takt;

TEST_CASE("segments against kernel by kernel", "[scenarios]") {
  constexpr double allowed = 0.007;
  for (const std::string& name : test::scenario_names()) {
    DYNAMIC_SECTION(name) {
      const StepMetrics joined = test::finished(name, {test::one_micro_step}).result.metrics;
      const StepMetrics single =
          test::finished(name, {test::one_micro_step, {"assumptions.kernel_by_kernel", "true"}}).result.metrics;
      const double with = to_seconds(joined.step_time), without = to_seconds(single.step_time);
      CAPTURE(with, without);
      REQUIRE(std::abs(with - without) <= allowed * without);
      REQUIRE(joined.communication.received_per_card == single.communication.received_per_card);
    }
  }
}
