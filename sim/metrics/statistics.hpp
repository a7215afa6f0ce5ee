// Medians and percentiles of errors: one rounding of ranks for all reports.
#pragma once

#include <vector>

namespace takt {

/// The middle value, or the mean of the two middle ones. Needs at least one value.
double median(std::vector<double> values);

/// The value below which nine tenths lie: the one at rank floor(0.9 n), counted from 0. Needs at least one value.
double ninetieth_percentile(std::vector<double> values);

}  // namespace takt
