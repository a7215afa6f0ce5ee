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
  std::string architecture;  ///< of its cards: "Ampere", ...
  double measured_s = 0.0;
  double predicted_s = 0.0;    ///< at the constants `at`
  std::vector<double> slopes;  ///< seconds for 1 of each of global_constants(), in their order
};

/// Predicted seconds of `row`, linear from `at`.
double linear_prediction(const StepFitRow& row, const GlobalConstants& at, const GlobalConstants& constants);

/// Constants fitted to `rows`. One that no row depends on stays at its prior.
GlobalConstants fit_global_constants(std::span<const StepFitRow> rows, const GlobalConstants& at);

/// The same without the rows of one publisher.
GlobalConstants fit_without_publisher(std::span<const StepFitRow> rows, const GlobalConstants& at,
                                      const std::string& publisher);

/// The same without the rows of one architecture, as a card is priced of whose architecture no step is published.
GlobalConstants fit_without_architecture(std::span<const StepFitRow> rows, const GlobalConstants& at,
                                         const std::string& architecture);

}  // namespace takt
