// scenario.toml -> Scenario -> (Topology, Workload) -> Plan -> Timeline -> StepMetrics: the whole of Takt as a list.
#pragma once

#include "config/library.hpp"
#include "engine/simulate.hpp"
#include "metrics/step_metrics.hpp"

#include <memory>
#include <optional>

namespace takt {

struct RunOptions {
  Executor* executor = nullptr;
  bool record_rates = false;  ///< for traces
};

/// Everything of a run, kept for traces and explanations.
struct FinishedRun {
  RunResult result;
  Topology topology;
  Workload workload;
  BuiltPlan built;            ///< with the measured iteration alone, as `timeline` has it
  Timeline timeline;
  std::optional<Plan> whole;  ///< the plan as it was simulated, if the measured iteration is not its first

  /// What to simulate again.
  const Plan& played() const { return whole ? *whole : built.plan; }
};

/// What `takt check` does: all steps up to the plan.
struct PreparedRun {
  Scenario scenario;
  ModelSpec model;
  Topology topology;
  std::vector<CardInstance> cards;
  Workload workload;
  BuiltPlan built;
  Diagnostics warnings;
};

Result<PreparedRun> prepare(const SourceText& source, const Overrides& overrides, Library& library);
Result<FinishedRun> run(const SourceText& source, const Overrides& overrides, Library& library,
                        const RunOptions& options);

}  // namespace takt
