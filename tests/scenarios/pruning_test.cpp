// Leaving out resources that cannot bind makes components small and changes nothing, on every scenario.
#include "catch.hpp"
#include "support/scenarios.hpp"

using namespace takt;

TEST_CASE("pruned and unpruned runs of every scenario are equal", "[scenarios]") {
  for (const std::string& name : test::scenario_names()) {
    DYNAMIC_SECTION(name) {
      const FinishedRun pruned = test::finished(name, {test::one_micro_step});
      EngineOptions options;
      options.prune = false;
      const auto unpruned = simulate(pruned.played(), pruned.topology.resources(), options);
      REQUIRE(unpruned.has_value());
      REQUIRE(to_seconds(pruned.timeline.end) == Approx(to_seconds(unpruned->end - unpruned->begin)).epsilon(1e-10));
    }
  }
}
