// The parameter tensors of each block, in registration order.
#pragma once

#include <vector>

#include "workload/recipe.hpp"
#include "workload/workload.hpp"

namespace takt {

std::vector<Parameter> embedding_parameters(const Recipe& recipe);
std::vector<Parameter> layer_parameters(const Recipe& recipe);
std::vector<Parameter> head_parameters(const Recipe& recipe);

}  // namespace takt
