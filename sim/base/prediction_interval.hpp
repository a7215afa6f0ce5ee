// How far a prediction may be off, from what predictions of its kind were off by.
#pragma once

#include <cmath>

namespace takt {

/// Parts of a prediction between which nine in ten measurements lie.
struct PredictionInterval {
  double low = 1.0, high = 1.0;

  /// Half its width and its middle, in logarithms.
  double reach() const { return std::log(high / low) / 2.0; }
  double middle() const { return std::log(high * low) / 2.0; }

  bool holds(double measured_over_predicted) const {
    return measured_over_predicted >= low && measured_over_predicted <= high;
  }
};

}  // namespace takt
