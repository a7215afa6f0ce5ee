// A card's [efficiency] from measured kernels: what share of its roofline each kind reaches.
//
// Each share puts the median of log(priced / measured) at zero, priced as `takt kernel` prices: `memory` over copies
// and triads beyond the L2, then `attention` and `attention_backward` over flash kernels, `dequantise` over NF4.
// Everything else that was measured and has a price (masked and eager attention, elementwise kernels, optimizers) is
// not fitted, but scored with the shares.
#pragma once

#include "calibration/measurements.hpp"
#include "config/card_spec.hpp"
#include "workload/kernel.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace takt {

/// One key of [efficiency] as fitted.
struct FittedShare {
  std::string key;  ///< "memory"
  double KernelEfficiency::*member = nullptr;
  double value = 0.0;
  std::size_t rows = 0;
  double median = 0.0, p90 = 0.0;  ///< relative errors of the rows with it
};

struct FittedEfficiency {
  CardSpec card;  ///< with the shares
  std::vector<FittedShare> shares;
};

/// The kernel as takt prices it on `card`, alone; nothing for a form without a price (cuDNN's attention, ...).
std::optional<Kernel> priced_measurement(const CardSpec& card, const Measurement& one);

/// Errors: a share beyond what the key may have: more than the peak that the card's file states, less than a hundredth.
Result<FittedEfficiency> fit_efficiency(const CardSpec& card, const std::vector<Measurement>& measured);

/// What kernels of a kind and form come to on a card, fitted or not.
struct KernelErrors {
  std::string what;  ///< "attention sdpa-mask forward"
  std::size_t rows = 0;
  double median = 0.0;         ///< |priced / measured - 1|
  double signed_median = 0.0;  ///< of priced / measured - 1
  bool priced = true;          ///< false: takt has no price of this form, and the rows are set against flash attention
};

/// By kind and form, in order; products are scored elsewhere.
std::vector<KernelErrors> kernel_errors(const CardSpec& card, const std::vector<Measurement>& measured);

/// The rate of products that last over that of short ones of the same shape and precision, the median of a card's; at
/// most 1. Nothing if no shape was measured both ways.
std::optional<double> sustained_share(const std::vector<Measurement>& measured, const std::string& card);

/// CPU times of this host, in us; 0: not measured.
struct LaunchCosts {
  double kernel_us = 0.0;
  double eager_us = 0.0;  ///< besides the launch
  double collective_us = 0.0;
};
LaunchCosts launch_costs(const std::vector<Measurement>& measured);

}  // namespace takt
