// Single kernels as the kernel model prices them: `takt kernel`.
#pragma once

#include "workload/gemm_model.hpp"
#include "workload/kernel_interval.hpp"
#include "workload/pricer.hpp"

#include <string>
#include <vector>

namespace takt {

struct PricedKernel {
  std::string what;  ///< "gemm 4096 8192 8192"
  Kernel kernel;
  Precision precision = Precision::bf16;
  std::string limit;      ///< "compute", "memory", "launch"
  KernelInterval interval;
};

PricedKernel priced_gemm(const KernelPricer& pricer, const GemmShape& shape);

/// A kernel that the pricer priced by a roofline; the longer of its two times is its limit.
PricedKernel priced_by_roofline(const KernelPricer& pricer, const Kernel& kernel, Precision precision,
                                KernelInterval interval);

std::string kernel_table(const std::vector<PricedKernel>& kernels, const KernelPricer& pricer);
std::string kernel_csv(const std::vector<PricedKernel>& kernels, const KernelPricer& pricer);

}  // namespace takt
