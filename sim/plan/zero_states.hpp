// What every ZeRO stage stores, and its optimizer step (semantics Z7, Z13, Z14, Z16, section 8).
#pragma once

#include "plan/builder.hpp"
#include "plan/step.hpp"

namespace takt {

/// Sizes of a rank. Sharded parts are rounded up.
struct ZeroSizes {
  std::int64_t trainable_elements = 0;  ///< of the whole model
  std::int64_t own_elements = 0;        ///< of this rank's partition of them
  Bytes compute_weights{};              ///< all weights in the formats that kernels read
  Bytes trainable_weights{};            ///< of them, those that train
  Bytes gradients{};                    ///< all gradients in the format that backward makes
  Bytes partition_gradients{};          ///< this rank's part of them
  Bytes optimizer{};                    ///< FP32 master and moments of this rank's partition
  double gradient_bytes = 2.0;          ///< of an element
};
ZeroSizes zero_sizes(const StepInput& input);

/// Clipping and the optimizer over this rank's partition, on the card or, offloaded, on the CPU (Z14); then the 16-bit copy
/// of the partition. Compute has all gradients.
void write_zero_optimizer(ProgramBuilder& builder, StreamId compute, CommSlot comm, const StepInput& input,
                          const ZeroSizes& sizes);

}  // namespace takt
