// The kernels before and after the decoder layers: embedding, final norm, head and loss.
#pragma once

#include <vector>

#include "workload/pricer.hpp"
#include "workload/recipe.hpp"

namespace takt {

struct EndKernels {
  std::vector<Kernel> forward;
  std::vector<Kernel> backward;  ///< empty where nothing trains
};

EndKernels embedding_kernels(const Recipe& recipe, const KernelPricer& pricer);
EndKernels head_kernels(const Recipe& recipe, const KernelPricer& pricer);

/// Bytes a token and vocabulary entry that the loss moves in a pass, besides the products. Fused with the head it has
/// no backward: its gradient is made in the forward.
double loss_traffic(CrossEntropy form, bool backward);

/// Tokens whose logits exist at once when loss and head are fused. Liger cuts the tokens into about V / h parts, so
/// that a chunk's logits take no more room than the hidden states, and rounds the chunk up to a power of two.
std::int64_t loss_chunk(const Recipe& recipe);

}  // namespace takt
