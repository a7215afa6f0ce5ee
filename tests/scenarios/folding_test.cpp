// Playing equal ranks once changes nothing, on every scenario.
#include "catch.hpp"
#include "engine/fold.hpp"
#include "support/scenarios.hpp"

using namespace takt;

TEST_CASE("every op of every scenario is at the same time whether equal ranks are played once or all", "[scenarios]") {
  for (const std::string& name : test::scenario_names()) {
    DYNAMIC_SECTION(name) {
      const FinishedRun run = test::finished(name, {test::one_micro_step});
      const ResourceTable& resources = run.topology->resources();
      const auto once = simulate(run.played(), resources);
      EngineOptions options;
      options.fold = false;
      const auto all = simulate(run.played(), resources, options);
      REQUIRE(once.has_value());
      REQUIRE(all.has_value());
      for (std::size_t rank = 0; rank < all->ops.size(); ++rank) {
        for (std::size_t op = 0; op < all->ops[rank].size(); ++op) {
          REQUIRE(once->ops[rank][op].start == all->ops[rank][op].start);
          REQUIRE(once->ops[rank][op].end == all->ops[rank][op].end);
        }
      }
    }
  }
}

TEST_CASE("the reference step is played on one card, a step with a straggler on all", "[scenarios]") {
  const std::string name = "llama-3.3-70b-lora-8x-rtx-pro-6000";
  const auto folds = [](const FinishedRun& run) {
    return fold_equal_ranks(run.played(), run.topology->resources()).has_value();
  };
  REQUIRE(folds(test::finished(name, {test::one_micro_step})));
  REQUIRE_FALSE(folds(test::finished(name, {test::one_micro_step, {"assumptions.stragglers.3", "1.1"}})));
}
