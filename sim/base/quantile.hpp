// Order statistics: the one definition of medians and percentiles in all reports, bounds and fits.
#pragma once

#include "base/contract.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace takt {

/// The value below which a share of `values` lies, between its two neighbours (Hyndman and Fan's type 7, what numpy and
/// R compute by default); not empty.
inline double quantile(std::vector<double> values, double share) {
  expects(!values.empty(), "a quantile of something");
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

/// The middle value, or the mean of the two middle ones; not empty.
inline double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

}  // namespace takt
