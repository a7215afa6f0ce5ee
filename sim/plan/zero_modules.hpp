// The modules of a block and the kernels of each: what ZeRO-3 gathers and runs one after another (semantics Z8).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workload/workload.hpp"

namespace takt {

/// A module with parameters of its own (a linear layer, a norm, an adapter's half) in one pass over its block.
struct ModuleVisit {
  std::vector<std::uint32_t> parameters;  ///< positions in BlockKind::parameters
  std::span<const Kernel> kernels;        ///< from its first kernel up to the next module's
};

/// A pass over a block: kernels before the first module's, then the modules in order.
struct ModulePass {
  std::span<const Kernel> before;
  std::vector<ModuleVisit> visits;
};

/// Modules in the order in which a forward (or its recomputation) uses them, or a backward. Kernels are told apart by
/// their names; those of a module that none is named after belong to the one before it.
ModulePass forward_pass(const BlockKind& kind, std::span<const Kernel> kernels);
ModulePass backward_pass(const BlockKind& kind, std::span<const Kernel> kernels);

}  // namespace takt
