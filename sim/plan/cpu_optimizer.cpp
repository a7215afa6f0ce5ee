#include "plan/cpu_optimizer.hpp"

#include <algorithm>

namespace takt {
namespace {

/// Master weight and two moments in FP32, which NVMe holds for each element.
constexpr double states_bytes = 12.0;

}  // namespace

void write_cpu_optimizer(ProgramBuilder& builder, StreamId compute, const StepInput& input, std::int64_t elements,
                         CpuOptimizer kind) {
  const ParallelSettings& parallel = input.scenario.parallel;
  const Assumptions& assumptions = input.scenario.assumptions;
  const bool on_nvme = parallel.offload_optimizer == Offload::nvme;
  const double passes = kind == CpuOptimizer::torch ? assumptions.torch_cpu_adam : 1.0;
  const std::int64_t group = on_nvme ? std::max<std::int64_t>(parallel.zero.sub_group_size, 1) : elements;
  builder.phase(Phase::optimizer);
  for (std::int64_t done = 0; done < elements; done += group) {
    const std::int64_t count = std::min(group, elements - done);
    if (on_nvme) builder.copy(compute, nvme_read_path, stored_size(count, states_bytes), "states from NVMe");
    builder.copy(compute, cpu_memory_path, stored_size(count, assumptions.cpu_adam_traffic * passes), "optimizer on CPU");
    if (on_nvme) builder.copy(compute, nvme_write_path, stored_size(count, states_bytes), "states to NVMe");
  }
  builder.host_wait(builder.record(compute));
}

void write_fsdp_cpu_step(ProgramBuilder& builder, StreamId compute, const StepInput& input, std::int64_t elements) {
  if (elements == 0) return;
  constexpr double clipping_bytes = 12.0;  // an FP32 element
  builder.unit(no_unit);
  if (input.scenario.finetune.gradient_clipping) {
    builder.phase(Phase::optimizer);
    builder.copy(compute, cpu_memory_path, stored_size(elements, clipping_bytes), "clipping on CPU");
  }
  write_cpu_optimizer(builder, compute, input, elements, CpuOptimizer::torch);
}

}  // namespace takt
