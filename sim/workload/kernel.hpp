// A GPU kernel with the price that the kernel model gave it.
#pragma once

#include <cstdint>

#include "base/units.hpp"

namespace takt {

enum class KernelKind : std::uint8_t {
  gemm, attention, elementwise, dequantise, adapter, embedding, loss, copy, optimizer, synthetic
};

struct Kernel {
  KernelKind kind = KernelKind::gemm;
  Duration time{};   ///< stand-alone, on an idle card
  Bytes memory{};    ///< card memory traffic, reads and writes
  Flops flops{};     ///< floating-point operations, 0 for memory-bound kernels
  const char* name = "";  ///< a string literal, for the trace: "q_proj", "attention", ...
};

}  // namespace takt
