#include "workload/global_constants.hpp"

#include <cmath>

namespace takt {
namespace {

/// FlashAttention-2's paper (arXiv:2307.08691, section 4.1; general knowledge) has it 1.3 to 2.5 times as fast as
/// FlashAttention in Triton: the middle of these, by their logarithms.
constexpr double triton_published = 1.8;

constexpr std::int64_t ampere = 80, ada = 89, hopper = 90, blackwell = 100;

}  // namespace

double GlobalConstants::gemm(const CardSpec& card) const {
  const std::int64_t capability = card.compute_capability;
  if (capability >= ampere && capability < ada) return gemm_ampere;
  if (capability >= hopper && capability < blackwell) return gemm_hopper;
  return std::sqrt(gemm_ampere * gemm_hopper);
}

double GlobalConstants::masked(const CardSpec& card, std::int64_t head_dim) const {
  constexpr std::int64_t widest_in_registers = 128;
  if (card.compute_capability >= blackwell) return masked_attention * masked_attention_blackwell;
  return masked_attention * (head_dim > widest_in_registers ? masked_attention_wide : 1.0);
}

const std::vector<GlobalConstant>& global_constants() {
  static const std::vector<GlobalConstant> all = {
      {"gemm_ampere", &GlobalConstants::gemm_ampere, "all scored rows on A100", 1.0},
      {"gemm_hopper", &GlobalConstants::gemm_hopper, "all scored rows on H100 and H200", 1.0},
      {"elementwise", &GlobalConstants::elementwise, "all scored rows", 1.0},
      {"triton_attention", &GlobalConstants::triton_attention, "scored rows of stacks with flash-triton",
       triton_published},
      {"masked_attention", &GlobalConstants::masked_attention, "scored rows of stacks with sdpa-mask", 1.0},
      {"masked_attention_wide", &GlobalConstants::masked_attention_wide,
       "scored rows of stacks with sdpa-mask and heads above 128 on A100 and H100", 1.0},
      {"masked_attention_blackwell", &GlobalConstants::masked_attention_blackwell,
       "scored rows of stacks with sdpa-mask on RTX PRO 6000", 1.0},
  };
  return all;
}

GlobalConstants recorded_global_constants() {
  return {.gemm_ampere = 1.012,
          .gemm_hopper = 1.184,
          .elementwise = 1.603,
          .triton_attention = 1.633,
          .masked_attention = 2.407,
          .masked_attention_wide = 2.025,
          .masked_attention_blackwell = 1.905};
}

GlobalConstants kernels_alone() {
  GlobalConstants constants = recorded_global_constants();
  constants.gemm_ampere = constants.gemm_hopper = constants.elementwise = 1.0;
  return constants;
}

}  // namespace takt
