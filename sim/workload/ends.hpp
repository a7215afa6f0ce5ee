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

}  // namespace takt
