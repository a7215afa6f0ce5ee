// How far a predicted step may be off.
#pragma once

#include "metrics/step_metrics.hpp"

#include <cmath>
#include <numbers>

namespace takt {

/// Nine in ten published steps took between these parts of their prediction, each publisher left out of the fit:
/// `takt validate --steps --leave-one-out`, 344 rows, 91.6 % of them within. Most of them are of A100, H100 and H200.
inline constexpr double step_interval_low = 0.90;
inline constexpr double step_interval_high = 1.28;

/// Whether the interval means anything for a run: its kernels are priced as in whole steps, of a language model.
inline bool carries_interval(const RunResult& run) {
  const Assumptions& assumptions = run.scenario.assumptions;
  return assumptions.compute == ComputeBasis::measured && assumptions.in_situ && run.metrics.mfu > 0.0;
}

/// A ratio of two predicted steps below this lies within their errors, if these are independent: the half-width of the
/// interval, in logarithms, times the root of two.
inline double ratio_within_error() {
  return std::exp(std::numbers::sqrt2 * std::log(step_interval_high / step_interval_low) / 2.0);
}

}  // namespace takt
