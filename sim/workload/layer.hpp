// The kernels of one decoder layer, forward, recomputed and backward.
#pragma once

#include <vector>

#include "workload/pricer.hpp"
#include "workload/recipe.hpp"

namespace takt {

enum class InputGradient { needed, not_needed };

struct LayerKernels {
  std::vector<Kernel> forward;
  std::vector<Kernel> recompute;  ///< empty without checkpointing
  std::vector<Kernel> backward;
};

/// What tells one decoder layer of a model from another.
struct LayerVariant {
  InputGradient input = InputGradient::needed;  ///< whether the gradient of the layer's input is needed (semantics C7)
  std::int64_t window = 0;                      ///< tokens a token attends to at most; 0 = all before it
  bool checkpointed = true;                     ///< where the recipe checkpoints at all: its turn (semantics C18)

  bool operator==(const LayerVariant&) const = default;
};

LayerVariant layer_variant(const Recipe& recipe, std::int64_t layer);

LayerKernels layer_kernels(const Recipe& recipe, const KernelPricer& pricer, const LayerVariant& variant);

/// The recipe as it holds for one layer: without checkpointing where that leaves the layer out.
Recipe recipe_for(const Recipe& recipe, const LayerVariant& variant);

/// Whether selective checkpointing keeps the output of the layer's linear with this index: of every second GEMM, the
/// first included (semantics C18).
bool kept_by_selective(std::size_t linear);

}  // namespace takt
