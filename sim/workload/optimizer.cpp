#include "workload/optimizer.hpp"

#include <cmath>

#include "base/contract.hpp"

namespace takt {
namespace {

constexpr double fp32 = 4.0;

/// AdamW as a list of passes over whole tensors (O2): decay 8, lerp 12, mul 8, addcmul 12, sqrt 8, div 8, add 8,
/// addcdiv 16 bytes an FP32 element.
constexpr double adamw_foreach_fp32 = 8.0 + 12.0 + 8.0 + 12.0 + 8.0 + 8.0 + 8.0 + 16.0;

OptimizerCost adamw_cost(OptimizerForm form, double element) {
  OptimizerCost cost{.state_bytes = 2.0 * element};
  if (form == OptimizerForm::fused) {
    cost.traffic = 7.0 * element;  // O1: reads weight, gradient and two moments, writes all but the gradient
  } else {
    cost.traffic = adamw_foreach_fp32 * element / fp32;
    cost.temporary_bytes = element;
  }
  return cost;
}

/// O3: two 8-bit moments and an FP32 constant for each block of 256 of both, read and written; weight read and
/// written, gradient read. Sizing guides count 2 bytes of state.
OptimizerCost adamw_8bit_cost(double element) {
  constexpr double constants = 2.0 * 2.0 * fp32 / 256.0;
  return {.state_bytes = 2.0, .traffic = 3.0 * element + 4.0 + constants, .temporary_bytes = 0.0};
}

}  // namespace

OptimizerCost optimizer_cost(Optimizer optimizer, OptimizerForm form, MasterFormat format) {
  const double element = format == MasterFormat::fp32 ? fp32 : 2.0;
  switch (optimizer) {
    case Optimizer::adamw: return adamw_cost(form, element);
    case Optimizer::adamw_8bit:
    case Optimizer::paged_adamw_8bit: return adamw_8bit_cost(element);
    case Optimizer::sgd: return {.state_bytes = 0.0, .traffic = 3.0 * element, .temporary_bytes = 0.0};
  }
  unreachable("optimizer without a cost");
}

ModelStates model_states(const Workload& workload, const OptimizerCost& cost, MasterFormat format) {
  double frozen = 0.0;
  double weights = 0.0;
  double gradients = 0.0;
  double trained = 0.0;
  for (const std::uint32_t kind : workload.blocks) {
    for (const Parameter& parameter : workload.kinds[kind].parameters) {
      const double elements = static_cast<double>(parameter.elements());
      if (!parameter.trainable) {
        frozen += elements * parameter.bytes;
        continue;
      }
      const double master = format == MasterFormat::fp32 && parameter.bytes < fp32 ? fp32 : 0.0;
      weights += elements * (parameter.bytes + master);
      gradients += elements * parameter.bytes;
      trained += elements;
    }
  }
  return {.frozen_weights = Bytes(std::llround(frozen)),
          .trainable_weights = Bytes(std::llround(weights)),
          .gradients = Bytes(std::llround(gradients)),
          .optimizer = Bytes(std::llround(trained * cost.state_bytes))};
}

}  // namespace takt
