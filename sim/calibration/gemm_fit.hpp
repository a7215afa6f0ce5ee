// From measured matrix products to a card's constants and residuals (workload/gemm_model.hpp).
//
// Constants minimise the mean of a smoothed absolute error of log(modelled / measured): outliers, where the library
// chose an odd kernel, pull little. Residuals are what the constants leave, averaged by weight shape and m.
#pragma once

#include "base/result.hpp"
#include "config/card_spec.hpp"
#include "config/source.hpp"
#include "workload/gemm_model.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace takt {

struct GemmPoint {
  std::string card;  ///< a card's id
  GemmShape shape;
  double seconds = 0.0;
  std::uint32_t line = 0;  ///< of its file; 0: none
};

inline constexpr std::string_view gemm_columns = "card,precision,m,n,k,ms";

/// Columns card, precision, m, n, k, ms. Errors: another header, a cell that is no positive number, an unknown
/// precision.
Result<std::vector<GemmPoint>> read_gemm_points(const SourceText& source);

struct GemmFitOptions {
  int rounds = 500;                   ///< of the search
  std::size_t most_points = 100'000;  ///< evenly thinned down to about these, for constants only
};

/// Fewer points than these are not fitted.
inline constexpr std::size_t fewest_to_fit = 20;

/// Constants and residuals of one card in one precision; needs at least fewest_to_fit points, all of that precision.
GemmCalibration fit_gemm(const CardSpec& card, std::span<const GemmPoint> points, const GemmFitOptions& options = {});

/// Constants that several cards share, each with an efficiency of its own, which the result leaves at its default.
/// `cards[i]` measured `points[i]`.
GemmConstants fit_shared_gemm(std::span<const CardSpec> cards, std::span<const std::vector<GemmPoint>> points,
                              const GemmFitOptions& options = {});

/// `constants` with the efficiency that puts the median of log(modelled / measured) at zero.
GemmConstants with_fitted_efficiency(const CardSpec& card, GemmConstants constants, std::span<const GemmPoint> points);

/// What `constants` leave of `points`.
GemmResiduals residuals_of(const CardSpec& card, const GemmConstants& constants, std::span<const GemmPoint> points);

/// Whether a weight shape is kept aside when errors are reported: one of `parts` equal parts by a hash of n and k, so
/// that all products of a shape are on the same side.
bool is_held_out(const GemmShape& shape, std::uint64_t part, std::uint64_t parts);

/// The estimate of each point in seconds, with what the others say: for each of `parts` parts, the calibration is
/// fitted to the rest. In the order of `points`.
std::vector<double> held_out_seconds(const CardSpec& card, std::span<const GemmPoint> points, std::uint64_t parts,
                                     const GemmFitOptions& options = {});

/// |estimate / measured - 1| of these.
std::vector<double> held_out_errors(const CardSpec& card, std::span<const GemmPoint> points, std::uint64_t parts,
                                    const GemmFitOptions& options = {});

}  // namespace takt
