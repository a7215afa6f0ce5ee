// What a block keeps and takes in memory besides parameters and gradients.
#pragma once

#include "workload/recipe.hpp"
#include "workload/workload.hpp"

namespace takt {

/// Bytes that a decoder layer saves for its backward without checkpointing (semantics C14, C15, C22).
Bytes saved_activations(const Recipe& recipe);

BlockMemory embedding_memory(const Recipe& recipe);
BlockMemory layer_memory(const Recipe& recipe);
BlockMemory head_memory(const Recipe& recipe);

}  // namespace takt
