// How far a predicted step may be off.
#pragma once

#include "base/prediction_interval.hpp"
#include "metrics/step_metrics.hpp"

#include <cmath>
#include <optional>
#include <string_view>

namespace takt {

/// Of `takt validate --steps --leave-one-out`, which leaves a bound when they are not what it finds: with each publisher
/// left out of the fit (344 rows), and with each architecture left out, for cards of whose architecture nobody or one
/// publisher alone has steps.
inline constexpr PredictionInterval published_interval{0.90, 1.27};
inline constexpr PredictionInterval unpublished_interval{0.86, 1.46};

/// Whether two publishers at least have steps of it that are scored.
inline bool has_published_steps(std::string_view architecture) {
  return architecture == "Ampere" || architecture == "Hopper";
}

/// Whether an interval means anything for a run: its kernels are priced as in whole steps, of a language model.
inline bool carries_interval(const RunResult& run) {
  const Assumptions& assumptions = run.scenario.assumptions;
  return assumptions.compute == ComputeBasis::measured && assumptions.in_situ && run.metrics.mfu > 0.0;
}

/// A card without published steps whose products are another card's is off by theirs too, independently.
inline PredictionInterval step_interval(const RunResult& run) {
  if (has_published_steps(run.card_architecture)) return published_interval;
  const double middle = unpublished_interval.middle();
  const double reach = std::hypot(unpublished_interval.reach(), std::log1p(run.borrowed_products));
  return {std::exp(middle - reach), std::exp(middle + reach)};
}

/// Seconds between which nine in ten steps lie; nothing where an interval says nothing of the run.
inline std::optional<Range> step_time_interval(const RunResult& run) {
  if (!carries_interval(run)) return std::nullopt;
  const double step = to_seconds(run.metrics.step_time);
  return Range{step_interval(run).low * step, step_interval(run).high * step};
}

/// For the same work, `longer` is predicted to take more time than `shorter`: the ratio below which they may really lie
/// the other way round, if their errors have nothing in common.
inline double ratio_within_error(const PredictionInterval& shorter, const PredictionInterval& longer) {
  return std::exp(std::hypot(shorter.reach(), longer.reach()) + shorter.middle() - longer.middle());
}

}  // namespace takt
