#include "workload/kernel_interval.hpp"

#include "workload/gemm_model.hpp"
#include "workload/precision.hpp"

namespace takt {
namespace {

/// Three fractions of the peak that ten published steps say of masked attention, 0.24 (A100), 0.136 (H100) and 0.098
/// (RTX PRO 6000), over what the price takes: 1.01, 0.99 and 0.79.
constexpr double masked_interval = 0.27;
/// FlashAttention-2's paper has Triton's 1.3 to 2.5 times as slow; the price takes 1.633.
constexpr double triton_interval = 0.54;
/// 0.25, 0.27 and 0.29 of the memory bandwidth, from steps of two publishers; the price takes 0.27.
constexpr double dequantise_spread = 0.08;

/// What two burn-ins at 300 W are off from the card's point at that limit: 5.2 and 5.9 %.
constexpr double power_limit_interval = 0.06;

}  // namespace

double no_point_interval(Precision precision) {
  return is_narrow(precision) ? 0.45 : 0.35;
}

KernelInterval gemm_interval(const CardSpec& card, Precision precision, double seconds) {
  const GemmCalibration* calibration = gemm_calibration(card, precision);
  KernelInterval interval{no_point_interval(precision),
                          "cards left out of a fit, nothing given: no products in this precision"};
  if (calibration != nullptr) {
    const std::string& like = calibration->like;
    interval.relative = calibration->interval;
    interval.rests_on = "cards left out of a fit, one number given: the rest as " + like;
    if (calibration->interval >= no_point_interval(precision))
      interval.rests_on = "cards left out of a fit, nothing given: efficiency assumed, the rest as " + like;
    if (like.empty()) interval.rests_on = "products of this card whose weight shapes were held out of a fit";
  }
  interval.relative += floor_seconds / seconds;
  interval.rests_on += "; 1 us for what floors of tables differ by";
  if (card.delivered_limit) {
    interval.relative += power_limit_interval;
    interval.rests_on += "; 6 % for the limit";
  }
  return interval;
}

KernelInterval attention_interval(const CardSpec& card, AttentionKernel kernel) {
  switch (kernel) {
    case AttentionKernel::flash:
      break;
    case AttentionKernel::flash_triton:
      return {triton_interval, "FlashAttention-2's paper: 1.3 to 2.5 times as slow as FlashAttention-2"};
    case AttentionKernel::sdpa_mask:
      return {masked_interval, "fractions of the peak from ten published steps; never timed alone"};
    case AttentionKernel::eager:
      return {memory_interval_taken_over,
              "copies and triads of cards: its traffic is counted, it was never timed alone"};
  }
  if (card.efficiency.attention_measured)
    return {attention_interval_measured, "FlashAttention-2 points of measured chips that no constant was read from"};
  return {attention_interval_taken_over, "measured chips priced with A100's fractions: nobody measured this one"};
}

KernelInterval memory_interval(const CardSpec& card) {
  if (card.efficiency.memory_measured)
    return {memory_interval_measured, "copies on other machines with measured cards"};
  return {memory_interval_taken_over, "copies and triads of cards priced with 0.85 of their bandwidth"};
}

KernelInterval dequantise_interval() {
  return {dequantise_spread, "the spread of three estimates from whole steps; never timed alone"};
}

KernelInterval cast_interval() {
  return {no_point_interval(Precision::fp8), "fitted as a part of FP8 and FP4 products; never timed alone"};
}

}  // namespace takt
