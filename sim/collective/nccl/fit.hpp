// Fitting the constants of the runtime model to measurements: what leaving a machine out needs, and where the recorded
// constants come from.
//
// Each parameter is the logarithm of a constant (or of several that share a value). The fit starts at generic values,
// NCCL's own constants where it has one, and minimises over tables
//
//     mean over tables ( mean over rows of sqrt(e^2 + d^2) ) + w sum over parameters (ln p/p0)^2,    e =
//     ln(predicted/measured)
//
// by coordinate descent with halving steps. d = 0.02 keeps a few wild rows from ruling; w is weak: a parameter that no
// row speaks of stays generic. Deterministic: parameters in a fixed order, sums in the order of the rows.
#pragma once

#include "collective/nccl/runtime_constants.hpp"

#include <functional>
#include <span>
#include <vector>

namespace takt {

/// NCCL's constants and round numbers: what one would take without any measurement.
RuntimeConstants generic_constants();

/// A measured row: its table (numbered from 0), and its time with given constants.
struct FitRow {
  std::size_t table = 0;
  double measured_us = 0.0;
  std::function<double(const RuntimeConstants&)> predicted_us;
};

RuntimeConstants fit_constants(std::span<const FitRow> rows);

}  // namespace takt
