// How good the GEMM model is on products that it was not fitted to.
#pragma once

#include "calibration/gemm_fit.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace takt {

/// Relative errors are |estimate / measured - 1|.
struct GemmScore {
  std::string card;
  Precision precision = Precision::bf16;
  std::size_t points = 0;
  double median = 0.0, p90 = 0.0, worst = 0.0;  ///< weight shapes held out, constants and residuals fitted to the rest
  double interval = 0.0;                        ///< the card file's
  double within_interval = 0.0;                 ///< share of held-out products
  /// The card left out: constants of the others. With one number for it, its median efficiency: median error. Without
  /// any: the share of products within `unknown_interval`. Zero if no other card has the precision.
  double one_number_median = 0.0;
  double unknown_within = 0.0;
  std::vector<double> held_out_s;  ///< estimates of the held-out products, in the order of the card's points
};

struct GemmScoreOptions {
  std::uint64_t parts = 4;  ///< of weight shapes, each held out in turn
  GemmFitOptions fit{.rounds = 500, .most_points = 800};
  GemmFitOptions shared_fit{.rounds = 300, .most_points = 400};
};

/// Most products of a card without any measurement lie within this relative error; wider for narrow formats, of which
/// cards reach very different shares.
double unknown_interval(Precision precision);

/// A score for each card and precision of `points`, in order of card and precision. `card_of` gives a card by its id.
std::vector<GemmScore> score_gemm(std::span<const GemmPoint> points,
                                  const std::function<const CardSpec&(const std::string&)>& card_of,
                                  const GemmScoreOptions& options = {});

/// Recorded bounds of a score (DESIGN section 8): held out, BF16 4 % and 13 %, narrower formats 6 % and 16 %; one
/// number 10 %; without any, 85 % within the interval.
struct GemmBounds {
  double median = 0.04, p90 = 0.13;
  double one_number_median = 0.10;
  double unknown_within = 0.85;
};
GemmBounds bounds_of(Precision precision);
bool is_within_bounds(const GemmScore& score);

}  // namespace takt
