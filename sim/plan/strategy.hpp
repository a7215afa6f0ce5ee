// From a workload on a topology to a plan, by the rules of the scenario's strategy.
#pragma once

#include "base/result.hpp"
#include "config/scenario.hpp"
#include "plan/plan.hpp"
#include "topology/topology.hpp"
#include "workload/workload.hpp"

namespace takt {

/// What a strategy says besides the program: sizes that reports need.
struct PlanFacts {
  Bytes states_per_rank{};              ///< sharded model states of a rank
  Bytes received_per_rank{};            ///< by collectives, a whole step
  std::int64_t shard_ranks = 1;         ///< ranks that share one copy of the model
  std::int64_t replicas = 1;
};

struct BuiltPlan {
  Plan plan;
  PlanFacts facts;
};

/// Cards of `topology` that take part, in rank order. Error: a card that does not exist or is named twice.
Result<std::vector<CardInstance>> choose_cards(const Scenario& scenario, const Topology& topology);

/// Errors: a strategy for one card on several, a hybrid group that does not divide the ranks, cards of different kinds,
/// a strategy that is not built yet.
Result<BuiltPlan> build_plan(const Scenario& scenario, const Workload& workload, const Topology& topology,
                             const std::vector<CardInstance>& cards, const KernelPricer& pricer);

}  // namespace takt
