// How good the GEMM model is on products that it was not fitted to.
#pragma once

#include "calibration/gemm_fit.hpp"
#include "workload/kernel_interval.hpp"

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
  /// any: the share of products within `no_point_interval`. Zero if no other card has the precision.
  double one_number_median = 0.0;
  double one_number_within = 0.0;  ///< share within `one_number_interval`
  double unknown_within = 0.0;
  std::vector<double> held_out_s;  ///< estimates of the held-out products, in the order of the card's points
};

struct GemmScoreOptions {
  std::uint64_t parts = 4;  ///< of weight shapes, each held out in turn
  GemmFitOptions fit{.rounds = 500, .most_points = 800};
  GemmFitOptions shared_fit{.rounds = 300, .most_points = 400};
};

/// A score for each card and precision of `points`, in order of card and precision. `card_of` gives a card by its id.
std::vector<GemmScore> score_gemm(std::span<const GemmPoint> points,
                                  const std::function<const CardSpec&(const std::string&)>& card_of,
                                  const GemmScoreOptions& options = {});

/// Recorded bounds of a score (DESIGN section 8): held out, BF16 4 % and 13 %, narrower formats 6 % and 16 %, 85 to 95
/// % within the card file's interval; one number 10 %; without any, 85 % within the interval.
struct GemmBounds {
  double median = 0.04, p90 = 0.13;
  double one_number_median = 0.10;
  double least_within = 0.85, most_within = 0.95;
};
GemmBounds bounds_of(Precision precision);
bool is_within_bounds(const GemmScore& score);

/// Share of the products of all scores that lie within the interval of a card with one number; 0: none was left out.
double one_number_coverage(std::span<const GemmScore> scores);

}  // namespace takt
