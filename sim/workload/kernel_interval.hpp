// How far the price of a kernel that runs alone may be off: nine in ten measured kernels of its kind lie within.
//
// An interval is the 90th percentile of |predicted / measured - 1| over kernels that the price did not see
// (validation/kernels; `takt validate --kernels` prints what share of them each holds, and has bounds on that):
//
//     product, own table           the card file's interval: weight shapes held out by hash
//     product, one number          cards left out of the fit, their median efficiency given; and the cards that state
//     one product, no point            cards left out, nothing given attention, on this chip      published
//     FlashAttention-2 points that no constant was read from attention, taken over        chips that were measured,
//     priced with A100's fractions of the peak memory, on this card         copies on other machines with the card
//     memory, taken over           copies and triads on cards that state 0.85, and on the others priced with 0.85
//
// Where no kernel was timed alone, the interval is the spread of what whole steps say, and says so.
#pragma once

#include "config/card_spec.hpp"
#include "config/scenario.hpp"

#include <string>

namespace takt {

struct KernelInterval {
  double relative = 0.0;
  std::string rests_on;
};

/// What the floors of published tables of products differ by: XLA's are 1 us above aiconfigurator's.
inline constexpr double floor_seconds = 1e-6;

/// A card of which one number is known: 0.16 in BF16 and 0.17 in FP8 over four cards left out, 0.18 with published ones.
inline constexpr double one_number_interval = 0.18;

/// Products in narrow formats (FP8, FP4) reach very different shares of the peak from card to card.
double no_point_interval(Precision precision);

inline constexpr double attention_interval_measured = 0.21;
inline constexpr double attention_interval_taken_over = 0.62;
inline constexpr double memory_interval_measured = 0.08;
inline constexpr double memory_interval_taken_over = 0.09;

/// Of a product that takes `seconds`.
KernelInterval gemm_interval(const CardSpec& card, Precision precision, double seconds);
KernelInterval attention_interval(const CardSpec& card, AttentionKernel kernel);
KernelInterval memory_interval(const CardSpec& card);
KernelInterval dequantise_interval();
KernelInterval cast_interval();

}  // namespace takt
