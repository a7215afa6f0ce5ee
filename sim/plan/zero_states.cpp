#include "plan/zero_states.hpp"

#include <algorithm>

#include "plan/cpu_optimizer.hpp"

namespace takt {
namespace {

constexpr double fp32_bytes = 4.0;

}  // namespace

ZeroSizes zero_sizes(const StepInput& input) {
  ZeroSizes sizes;
  double gradients = 0.0;
  for (const std::uint32_t k : input.workload.blocks) {
    for (const Parameter& parameter : input.workload.kinds[k].parameters) {
      const Bytes weights = stored_size(parameter.elements(), parameter.bytes);
      sizes.compute_weights += weights;
      if (!parameter.trainable) continue;
      sizes.trainable_elements += parameter.elements();
      sizes.trainable_weights += weights;
      gradients += static_cast<double>(parameter.elements()) * parameter.gradient_bytes;
    }
  }
  const std::int64_t ranks = input.shard_ranks;
  sizes.own_elements = (sizes.trainable_elements + ranks - 1) / ranks;
  if (sizes.trainable_elements > 0) sizes.gradient_bytes = gradients / static_cast<double>(sizes.trainable_elements);
  sizes.gradients = stored_size(sizes.trainable_elements, sizes.gradient_bytes);
  sizes.partition_gradients = stored_size(sizes.own_elements, sizes.gradient_bytes);
  sizes.optimizer = stored_size(sizes.own_elements, fp32_bytes + input.workload.optimizer_bytes);
  return sizes;
}

void write_zero_optimizer(ProgramBuilder& builder, StreamId compute, CommSlot comm, const StepInput& input,
                          const ZeroSizes& sizes) {
  if (sizes.trainable_elements == 0) return;
  std::optional<NormReduction> reduction;
  if (input.shard_ranks > 1) reduction = NormReduction{comm};
  write_clipping(builder, compute, input, sizes.own_elements, reduction);
  const Bytes copy = stored_size(sizes.own_elements, sizes.gradient_bytes);
  if (input.scenario.parallel.offload_optimizer != Offload::none) {
    write_cpu_optimizer(builder, compute, input, sizes.own_elements, CpuOptimizer::deepspeed);
    builder.phase(Phase::optimizer);
    builder.copy(compute, host_to_device_path, copy, "weights to card");
    return;
  }
  const Bytes master = stored_size(sizes.own_elements, fp32_bytes);
  // Stage 3 updates sub-groups one after another, so FP32 gradients of one of them exist at a time (Z13).
  const bool in_groups = input.scenario.parallel.strategy == Strategy::zero3;
  const std::int64_t at_once =
      in_groups ? std::min(sizes.own_elements, input.scenario.parallel.zero.sub_group_size) : sizes.own_elements;
  const Bytes temporary = stored_size(at_once, fp32_bytes);
  builder.phase(Phase::optimizer);
  builder.unit(no_unit);
  builder.allocate(compute, MemoryCategory::temporary, temporary);
  builder.kernel(compute, copy_kernel(input.pricer, "gradients to fp32", sizes.partition_gradients, master), "optimizer");
  write_optimizer(builder, compute, input, sizes.own_elements, Bytes{});
  builder.phase(Phase::optimizer);
  builder.kernel(compute, copy_kernel(input.pricer, "weights to 16 bit", master, copy), "optimizer");
  builder.release(compute, MemoryCategory::temporary, temporary);
}

}  // namespace takt
