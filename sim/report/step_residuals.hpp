// How far left-out steps lie from their predictions: where the intervals of predictions come from.
#pragma once

#include "report/step_interval.hpp"
#include "report/step_validation.hpp"

#include <string>
#include <vector>

namespace takt {

/// Where nine tenths of measured / predicted lie.
struct ResidualInterval {
  PredictionInterval parts;
  double coverage = 0.0;  ///< share of rows within the interval that the other publishers' rows give
};

/// Of predictions with each row's publisher left out; needs rows of two publishers at least.
ResidualInterval left_out_interval(const std::vector<StepOutcome>& outcomes);

/// Of predictions with each row's architecture left out, each architecture weighing the same, as a card of yet another
/// one is predicted.
PredictionInterval interval_between_architectures(const std::vector<StepOutcome>& outcomes);

/// Architectures with scored rows of two publishers at least, in order.
std::vector<std::string> published_architectures(const std::vector<StepOutcome>& outcomes);

/// Both intervals with their coverage, and errors with each architecture left out.
std::string residuals_text(const std::vector<StepOutcome>& outcomes);

/// Coverage that is not 85 to 95 %, and intervals of step_interval.hpp that these rows do not give, in words.
std::vector<std::string> left_interval_bounds(const std::vector<StepOutcome>& outcomes);

}  // namespace takt
