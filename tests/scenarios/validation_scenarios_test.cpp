// The scenarios of scenarios/validation/: gradients all-reduced with nothing else on the way, against what was
// measured.
#include "catch.hpp"
#include "support/scenarios.hpp"

using namespace takt;

TEST_CASE("machines all-reduce as fast as was measured", "[scenarios]") {
  // Bus bandwidth = bytes that each card receives (2 (n - 1) / n of the gradients) over the time that communication
  // runs.
  struct Measured {
    const char* scenario;
    double gigabytes_per_second;
    double tolerance;
  };
  // Of the network study, section 3. Six NVLinks: the fill lambda is that of smaller messages, 4 to 8 % too slow at 1
  // GiB and more. Four cards: quoted as 300 to 337 without a log.
  for (const Measured& row :
       {Measured{"all-reduce-8x-rtx-pro-6000-dual-turin", 22.2, 0.10},
        Measured{"all-reduce-8x-rtx-pro-6000-dual-turin-8-channels", 37.6, 0.05},
        Measured{"all-reduce-8x-rtx-pro-6000-spr", 24.7, 0.05},
        Measured{"all-reduce-8x-rtx-pro-6000-switches-p2p", 46.4, 0.05},
        Measured{"all-reduce-2x-h200-nvl", 109.4, 0.12}, Measured{"all-reduce-4x-h200-nvl", 337.0, 0.10},
        Measured{"all-reduce-8x-h200-nvl", 68.7, 0.05}}) {
    const auto& communication = test::finished(std::string("validation/") + row.scenario).result.metrics.communication;
    const double received = static_cast<double>(communication.received_per_card.count());
    INFO(row.scenario);
    CHECK(received / to_seconds(communication.busy) / 1e9 == Approx(row.gigabytes_per_second).epsilon(row.tolerance));
  }
}
