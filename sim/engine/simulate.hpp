// Plays a plan on shared resources. DESIGN section 2 is its specification.
#pragma once

#include "base/result.hpp"
#include "engine/executor.hpp"
#include "engine/timeline.hpp"
#include "plan/plan.hpp"
#include "topology/resource.hpp"

namespace takt {

/// Whether a network is divided into regions (see regions.hpp): never, always, or where many messages are under way.
enum class Division { never, where_worth_it, always };

struct EngineOptions {
  Executor* executor = nullptr;     ///< null: serial
  bool prune = true;                ///< leave resources that cannot bind out of the components (same answer, faster)
  bool fold = true;                 ///< play equal ranks once (same answer, faster)
  /// Same times; of a call's parts that end last at once another may be told in its charges.
  Division division = Division::where_worth_it;
  bool record_rates = false;        ///< keep every change of every resource's rate (traces)
};

/// The timeline of the plan. Error: a deadlock, naming the ops that wait and for what.
Result<Timeline> simulate(const Plan& plan, const ResourceTable& resources, const EngineOptions& options = {});

}  // namespace takt
