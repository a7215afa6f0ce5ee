// What an optimizer keeps and moves, by element that a rank updates.
#pragma once

#include "config/scenario.hpp"
#include "workload/workload.hpp"

namespace takt {

enum class MasterFormat { fp32, bf16 };  ///< of the weights, gradients and moments that the optimizer works on

struct OptimizerCost {
  double state_bytes = 0.0;      ///< kept between steps, besides the master weight
  double traffic = 0.0;          ///< card memory bytes a step (semantics O1 to O3)
  double temporary_bytes = 0.0;  ///< alive during the step only (semantics O2, M5)
};

OptimizerCost optimizer_cost(Optimizer optimizer, OptimizerForm form, MasterFormat format);

/// Bytes an element of gradient clipping: a read for the norm, a read and a write for the scale (semantics O6).
inline constexpr double clipping_traffic = 12.0;

/// Unsharded model states by the sizing guides' count: a weight as computed with, its gradient in the same format, a
/// master copy if that is not FP32 already and the optimizer works on one, and the optimizer's states. AdamW: 16 bytes
/// an element that trains, in 8 bits 10, in pure bf16 8.
ModelStates model_states(const Workload& workload, const OptimizerCost& cost, MasterFormat format);

}  // namespace takt
