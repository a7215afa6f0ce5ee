// A card's file with what was fitted to measurements of it.
#pragma once

#include "calibration/efficiency_fit.hpp"
#include "calibration/gemm_fit.hpp"

#include <string>
#include <vector>

namespace takt {

/// A calibration with what is said about it in the file.
struct FittedGemm {
  Precision precision = Precision::bf16;
  GemmCalibration calibration;
  std::size_t points = 0;
  double median = 0.0, p90 = 0.0;  ///< relative errors of weight shapes held out
};

/// Fits one precision of a card and its held-out errors, in `parts` parts; the interval is the 90th percentile.
FittedGemm fitted_gemm(const CardSpec& card, std::span<const GemmPoint> points, const std::string& source);

/// Whether enough products are left to fit, whichever part of the weight shapes is held out.
bool has_shapes_to_hold_out(std::span<const GemmPoint> points);

/// For a card with few products: the constants of `other`, which must have its own, and the efficiency that puts the
/// median error at zero. The interval is the widest that a card left out of the fit needed.
FittedGemm scaled_gemm(const CardSpec& card, const CardSpec& other, std::span<const GemmPoint> points,
                       const std::string& source);

/// Name of the residual file beside the card's: "gemm/h200-sxm-bf16.csv".
std::string residual_file_of(const CardSpec& card, Precision precision);

/// `card_text` with the shares in its [efficiency], and with `source` and their errors in front of what the section's
/// source said before. The section must be written as one: see is_as_fitted().
std::string with_efficiency(std::string card_text, const FittedEfficiency& fitted, const std::string& source);

/// `card_text` with the key `sustained`.
std::string with_sustained(std::string card_text, double share);

/// Whether a card reads back with the shares (and the rest of its [efficiency] as before).
bool is_as_fitted(const CardSpec& read, const FittedEfficiency& fitted);

/// `card_text` (a card's TOML) without its [gemm.*] sections of those precisions, and with new ones at its end.
std::string with_gemm_sections(std::string card_text, const CardSpec& card, const std::vector<FittedGemm>& fits);

}  // namespace takt
