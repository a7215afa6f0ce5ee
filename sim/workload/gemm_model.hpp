// How long a matrix product takes on a card.
//
//     t = launch + (t_c^4 + t_m^4)^(1/4) [+ M K (2 / (0.9 B) + q / S) where the activations are cast first]
//     t_c = min over tiles (tm, tn) of {256, 128, 64}^2 and splits s of K in {1, 2, 4, 8} with K / s >= 512 of
//           w' S 2 tm tn (K / s + K0) (1 + small_tile ((128 / tm + 128 / tn) / 2 - 1)) / P  [+ 8 s M N / (3 B) if s >
//           1]
//     w   = ceil(M / tm) ceil(N / tn) s / S waves;  w' = 1 if w < 1, else w + partial_wave (ceil(w) - w)
//     P   = efficiency * peak / (1 + power_drop d h + cache_drop l),  d = log2(work / (peak 1 ms)) in 0 .. 7,
//           h = peak in TFLOP/s b / 2 over the power limit in W, l = log2(operands and result / L2) in -1 .. 2
//     t_m = (b K (M + N) + c M N) / (memory B)
//
// with S SMs, B the memory bandwidth, b and c the bytes of operands and results. The library picks the tile; the
// smallest time stands for its choice. Waves, splits and tiles explain most of the steps in measured tables, power and
// cache most of the slow drift: cards with more FLOP/s a watt (H200, L40S) lose more when a product lasts. What is left
// is a residual: the mean of the nearest measured weight shapes, weighted by inverse squared distance in (log n, log
// k), taken at the product's own m. It fades out away from what was measured.
#pragma once

#include "config/card_spec.hpp"

#include <cstdint>

namespace takt {

/// (m x k) times (k x n).
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  Precision precision = Precision::bf16;
  bool casts = true;  ///< to FP8 and FP4: the activations come in 16 bits and are cast first, as in training

  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

enum class GemmLimit : std::uint8_t { compute, memory, launch };

struct GemmEstimate {
  double seconds = 0.0;
  double model_seconds = 0.0;  ///< without residuals
  double interval = 0.0;       ///< relative; holds 90 % of products
  GemmLimit limit = GemmLimit::compute;
};

/// What the card's file says of products in `precision`, or null. FP16 and BF16 stand for each other.
const GemmCalibration* gemm_calibration(const CardSpec& card, Precision precision);

/// Time by the constants alone, seconds. The card must have the precision.
double modelled_gemm_seconds(const CardSpec& card, const GemmConstants& constants, const GemmShape& shape);

/// Expected natural logarithm of measured over modelled time; 0 far from anything measured.
double expected_log_ratio(const GemmResiduals& residuals, const GemmShape& shape);

/// Casting `elements` activations to the format of the products, seconds; 0 where products need no cast.
double cast_seconds(const CardSpec& card, const GemmCalibration& calibration, double elements);

GemmEstimate estimate_gemm(const CardSpec& card, const GemmCalibration& calibration, const GemmShape& shape);

}  // namespace takt
