// The global constants of compute from measured training steps.
//
// A step is nearly linear in them: each multiplies the times of some kernels. So each row gives its predicted time at
// some constants and its slopes there, taken from whole simulations, and the fit needs no more of them. It minimises a
// smoothed absolute error of log(predicted / measured). A row weighs one over the root of its publisher's rows: many
// rows of one machine and one program are not independent, and are not one row either.
#pragma once

#include "workload/global_constants.hpp"

#include <span>
#include <string>
#include <vector>

namespace takt {

struct StepFitRow {
  std::string publisher;
  double measured_s = 0.0;
  double predicted_s = 0.0;    ///< at the constants `at`
  std::vector<double> slopes;  ///< seconds for 1 of each of global_constants(), in their order
};

/// Predicted seconds of `row`, linear from `at`.
double linear_prediction(const StepFitRow& row, const GlobalConstants& at, const GlobalConstants& constants);

/// Constants fitted to the rows of all publishers but `left_out` (empty: all). One that no row depends on
/// stays at its prior.
GlobalConstants fit_global_constants(std::span<const StepFitRow> rows, const GlobalConstants& at,
                                     const std::string& left_out);

}  // namespace takt
