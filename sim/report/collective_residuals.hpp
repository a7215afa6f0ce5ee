// How far left-out collectives lie from their predictions: where their intervals come from.
#pragma once

#include "base/prediction_interval.hpp"
#include "report/collective_validation.hpp"

#include <string>
#include <vector>

namespace takt {

/// Of one way, or of several that are taken together.
struct CollectiveResiduals {
  CollectiveWay way{};
  std::size_t rows = 0, machines = 0;
  PredictionInterval parts;  ///< nine tenths of measured / predicted, each machine left out
  double held = 0.0;         ///< share of the rows within what the other machines' rows say
};

/// By way, those that have rows. Needs predictions with each machine left out.
std::vector<CollectiveResiduals> residuals_by_way(const std::vector<CollectiveOutcome>& outcomes);

/// Share of all rows within the interval that the other machines' rows of their way give.
double coverage_of(const std::vector<CollectiveOutcome>& outcomes);

std::string collective_residuals_text(const std::vector<CollectiveOutcome>& outcomes);

/// A coverage that is not 85 to 95 %, and recorded intervals (collective/way.hpp) that the rows do not give, in words.
std::vector<std::string> left_collective_intervals(const std::vector<CollectiveOutcome>& outcomes);

}  // namespace takt
