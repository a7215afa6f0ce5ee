// AdamW on the CPU over states in host memory, or on NVMe (semantics Z14, O5, F60, S18).
#pragma once

#include "plan/binding.hpp"
#include "plan/builder.hpp"
#include "plan/step.hpp"

namespace takt {

enum class CpuOptimizer {
  deepspeed,  ///< one pass over the states
  torch,      ///< several; Assumptions::torch_cpu_adam times as long
};

/// The CPU updates `elements` of this rank's, once `compute` is done: a stream through host memory, which the ranks of a
/// socket share. States on NVMe are read before and written behind it, a sub-group at a time. `compute` waits for the end,
/// and so does the CPU.
void write_cpu_optimizer(ProgramBuilder& builder, StreamId compute, const StepInput& input, std::int64_t elements,
                         CpuOptimizer kind);

/// Whether FSDP keeps shards and optimizer in host memory (F60, S18).
inline bool fsdp_offloads(const StepInput& input) {
  return input.scenario.parallel.offload_params == Offload::cpu;
}

/// Clipping and AdamW of PyTorch on the CPU, over shards and gradients in host memory: the norm reads each gradient, the
/// scaling reads and writes it (O6), if the scenario clips.
void write_fsdp_cpu_step(ProgramBuilder& builder, StreamId compute, const StepInput& input, std::int64_t elements);

}  // namespace takt
