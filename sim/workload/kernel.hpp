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
  Duration time{};               ///< stand-alone, on an idle card
  Bytes memory{};                ///< card memory traffic, reads and writes
  Flops flops{};                 ///< floating-point operations, 0 for memory-bound kernels
  const char* name = "";         ///< a string literal, for the trace: "q_proj", "attention", ...
  std::uint16_t launches = 1;    ///< CUDA kernels that this stands for, of equal length; 0 = part of the one before
  std::uint16_t dispatches = 1;  ///< eager PyTorch ops among them; 0 where a compiled graph launches them
  Duration host{};               ///< host time besides launches and dispatch: a hook that runs before it
};

/// Whether a kernel slows down with the SMs that it loses. The others wait for memory, which few SMs can keep busy:
/// eight to 32 resident thread blocks cost an H200's triad no more than the bytes that they move (validation/overlap).
constexpr bool bound_by_sms(KernelKind kind) {
  return kind == KernelKind::gemm || kind == KernelKind::attention || kind == KernelKind::adapter ||
         kind == KernelKind::synthetic;
}

}  // namespace takt
