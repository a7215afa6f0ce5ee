// What a step rests on: blame, sensitivities and assumptions, for `takt explain`.
#pragma once

#include "metrics/sensitivity.hpp"
#include "metrics/step_metrics.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace takt {

enum class ExplanationFormat { table, json, csv };

/// The step as it is, what its critical path waits for, and how it changes with each resource, largest change first.
std::string sensitivities_explained(const RunResult& result, const std::vector<Sensitivity>& sensitivities,
                                    ExplanationFormat format);

/// An assumption changed, and what the step becomes.
struct Flip {
  std::string setting;                 ///< what was set: "assumptions.sm_contention = false"
  std::string meaning;                 ///< in words: "collectives hold no SMs"
  std::optional<StepMetrics> metrics;  ///< none: it means nothing to this scenario, or cannot run
};

/// A scenario with the same flips as all others, in the same order.
struct FlippedRun {
  RunResult result;
  std::vector<Flip> flips;
};

/// Each assumption in turn: the step, its change, the overlap ratio. Of several scenarios: the step and change of each,
/// and of two of them how many times as many tokens a second the first does.
std::string assumptions_explained(std::span<const FlippedRun> runs, ExplanationFormat format);

}  // namespace takt
