// What is known of a card's matrix products in one precision: the constants of the GEMM model (workload/gemm_model.hpp)
// and what measurements say beyond it. A card file's [gemm.bf16] and alike.
#pragma once

#include "base/result.hpp"
#include "config/source.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace takt {

/// The defaults are fitted to all four cards of validation/kernels/gemm.csv together, in BF16; they stand for a card
/// without measurements, with its own efficiency.
struct GemmConstants {
  double efficiency = 0.80;    ///< of the dense peak, for a product that fills the card and ends before it heats up
  double partial_wave = 1.0;   ///< share of the idle SMs of the last wave that is paid for
  double small_tile = 0.19;    ///< loss of tiles smaller than 128 x 128, by their perimeter
  double depth_start = 216.0;  ///< elements of K that starting a tile costs
  double launch_us = 2.0;      ///< floor that every product pays
  double memory = 0.89;        ///< of the memory bandwidth
  double power_drop = 0.034;   ///< loss for each doubling of the work beyond 1 ms at the peak, up to seven, on a card
                               ///< with 1 TFLOP/s a watt
  double cache_drop = 0.020;   ///< loss for each doubling of the operands beyond the L2 cache, up to two
  double quantise_ps = 0.0;  ///< picoseconds that an SM takes to cast an activation to FP8 or FP4; 0: there is no cast

  bool operator==(const GemmConstants&) const = default;
};

/// What a card's file may state as GemmConstants::efficiency.
inline constexpr double least_gemm_efficiency = 0.05, most_gemm_efficiency = 1.2;

/// Measured time over modelled time, as natural logarithm, on a grid: for each weight shape (n, k) one value for each
/// m.
struct GemmResiduals {
  struct Cell {
    double log2_n = 0.0, log2_k = 0.0;
    std::vector<double> log_ratio;  ///< index with `log2_m`
  };
  std::vector<double> log2_m;  ///< ascending
  std::vector<Cell> cells;

  bool empty() const { return cells.empty(); }
};

struct GemmCalibration {
  GemmConstants constants;
  std::shared_ptr<const GemmResiduals> residuals;  ///< null: the model alone
  std::string like;                                ///< the card whose constants and residuals these are; empty: its own
  std::string residual_file;                       ///< relative to the card's file
  double interval = 0.35;                          ///< 90 % of products lie within this relative error
  std::string source;
};

/// A residual file: a header "n,k,M1,M2,...", then a row a weight shape with round(1000 * log ratio) for each M.
/// Errors: a header or row of another form.
Result<GemmResiduals> read_gemm_residuals(const SourceText& source);
std::string write_gemm_residuals(const GemmResiduals& residuals);

}  // namespace takt
