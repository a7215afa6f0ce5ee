// The kernels that `takt kernel` prices: their names, the numbers that describe one, and how each is priced.
#pragma once

#include "options.hpp"
#include "report/kernel_table.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace takt {

struct KernelKindOption {
  std::string name;                  ///< "gemm"
  std::vector<std::string> numbers;  ///< "M", "N", "K"
  std::vector<std::string> options;  ///< those that only some kernels take
  Result<PricedKernel> (*price)(const KernelPricer& pricer, const std::vector<std::int64_t>& numbers,
                                Precision precision, const ParsedOptions& options);
};

const std::vector<KernelKindOption>& kernel_kinds();

/// "takt kernel gemm M N K".
std::string usage_of(const KernelKindOption& kind);

}  // namespace takt
