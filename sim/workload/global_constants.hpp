// The constants of compute that hold for every card of a kind, written once: what published training steps say beyond
// what kernels do alone. They are fitted together (calibration/step_fit.hpp) to the steps of validation/steps; `takt
// validate --steps --leave-one-out` fits them again without each publisher in turn.
#pragma once

#include "config/card_spec.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace takt {

/// Times are multiples of what a kernel takes without the constant.
struct GlobalConstants {
  double gemm_ampere = 1.0;       ///< a matrix product within a step over the same alone: clocks sag, caches are cold
  double gemm_hopper = 1.0;       ///< the same; Ada and Blackwell, without published steps, take the geometric mean
  double elementwise = 1.0;       ///< norms, rotation, activation, loss within a step over their traffic alone
  double triton_attention = 1.0;  ///< Triton's FlashAttention of 2023 over FlashAttention-2
  double masked_attention = 1.0;  ///< memory-efficient attention under a dense mask over flash, a FLOP
  double masked_attention_wide = 1.0;       ///< of heads above 128: that kernel accumulates in global memory; times the first
  double masked_attention_blackwell = 1.0;  ///< on Blackwell, of any head, times the first

  bool operator==(const GlobalConstants&) const = default;

  /// Of a matrix product on `card`.
  double gemm(const CardSpec& card) const;
  /// Of masked attention with heads of `head_dim` on `card`.
  double masked(const CardSpec& card, std::int64_t head_dim) const;
};

/// One of the constants, with what it rests on.
struct GlobalConstant {
  const char* name;
  double GlobalConstants::*value;
  const char* rests_on;  ///< which rows of validation/steps/rows.csv, in words
  double prior;          ///< what a fit without any such row leaves it at: 1, or what was published of the kernel alone
};

/// Every fitted constant of compute that is not a card's own.
const std::vector<GlobalConstant>& global_constants();

/// As fitted to all scored rows.
GlobalConstants recorded_global_constants();

/// For a kernel that runs alone: only what kernels differ by, nothing that steps add.
GlobalConstants kernels_alone();

}  // namespace takt
