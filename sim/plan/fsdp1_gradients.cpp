#include "plan/fsdp1_gradients.hpp"

#include "plan/cpu_optimizer.hpp"

#include <span>

namespace takt {

void Fsdp1Gradients::flatten(Fsdp1Unit& unit) {
  const FlatSizes& sizes = *unit.sizes;
  builder_.allocate(streams_.compute, MemoryCategory::gradients, sizes.gradient);
  shared_kernel(streams_.compute, unit.kernels->to_flat, "gradients to flat");
  builder_.release(streams_.compute, MemoryCategory::gradients, sizes.produced);
  if (unit.kept_gradient) {
    shared_kernel(streams_.compute, unit.kernels->accumulate_kept, "accumulate");
    builder_.release(streams_.compute, MemoryCategory::gradients, sizes.gradient);
  }
  unit.kept_gradient = true;
}

void Fsdp1Gradients::reduce(Fsdp1Unit& unit) {
  const FlatSizes& sizes = *unit.sizes;
  builder_.phase(Phase::communication);
  builder_.unit(unit.number);
  builder_.wait(streams_.post_backward, streams_.compute);
  const Bytes temporary = prepare(unit);
  // The result is the sharded gradient, unless it is cast to it or added to an earlier one.
  const bool in_place = !sizes.casts_reduced && !unit.reduced_gradient;
  if (in_place)
    builder_.allocate(streams_.post_backward, MemoryCategory::gradients, sizes.gradient_shard);
  else
    builder_.allocate(streams_.post_backward, MemoryCategory::buffers, sizes.reduced_shard);
  const auto give_back = [&](StreamId stream) {
    builder_.release(stream, MemoryCategory::gradients, sizes.gradient);
    builder_.release(stream, MemoryCategory::buffers, temporary);
  };
  if (input_.shard_ranks > 1) {
    const CollectiveCall call{CollectiveKind::reduce_scatter, sizes.reduced};
    builder_.collective(streams_.post_backward, streams_.shard, call, "reduce-scatter");
    give_back(streams_.post_backward);
    reduce_over_replicas(unit);
    return;
  }
  reduce_over_replicas(unit);
  give_back(streams_.all_reduce);
}

/// Cast, pad, divide; the bytes of the copies that this took.
Bytes Fsdp1Gradients::prepare(const Fsdp1Unit& unit) {
  const FlatSizes& sizes = *unit.sizes;
  Bytes temporary{};
  const auto copy = [&](const Kernel& kernel, std::string_view label) {
    builder_.allocate(streams_.post_backward, MemoryCategory::buffers, sizes.reduced);
    shared_kernel(streams_.post_backward, kernel, label);
    temporary += sizes.reduced;
  };
  if (sizes.casts_gradient) copy(unit.kernels->cast_gradient, "cast gradient");
  if (sizes.pads_gradient) copy(unit.kernels->pad, "pad gradient");
  if (factors_.before > 1.0) shared_kernel(streams_.post_backward, unit.kernels->divide_before, "divide");
  return temporary;
}

/// The shard over the replicas, then divide, cast, and into the sharded gradient (F28).
void Fsdp1Gradients::reduce_over_replicas(Fsdp1Unit& unit) {
  const FlatSizes& sizes = *unit.sizes;
  const FlatKernels& kernels = *unit.kernels;
  const StreamId stream = streams_.all_reduce;
  if (input_.replicas > 1) {
    builder_.wait(stream, streams_.post_backward);
    const CollectiveCall call{CollectiveKind::all_reduce, sizes.reduced_shard};
    builder_.collective(stream, streams_.replicate, call, "all-reduce");
  }
  if (factors_.after > 1.0) shared_kernel(stream, kernels.divide_after, "divide");
  if (sizes.casts_reduced) {
    if (!unit.reduced_gradient) builder_.allocate(stream, MemoryCategory::gradients, sizes.gradient_shard);
    shared_kernel(stream, kernels.cast_reduced, "cast reduced shard");
  }
  if (unit.reduced_gradient) shared_kernel(stream, kernels.accumulate, "accumulate");
  if (sizes.casts_reduced || unit.reduced_gradient) {
    builder_.release(stream, MemoryCategory::buffers, sizes.reduced_shard);
  }
  unit.kept_gradient = false;
  if (fsdp_offloads(input_)) {  // in master format, while the CPU goes on (F60)
    builder_.copy(stream, device_to_host_path, sizes.gradient_shard, "gradients to host");
    builder_.release(stream, MemoryCategory::gradients, sizes.gradient_shard);
    return;
  }
  unit.reduced_gradient = true;
}

void Fsdp1Gradients::finish() {
  builder_.wait(streams_.compute, streams_.post_backward);
  builder_.wait(streams_.compute, streams_.all_reduce);
  if (fsdp_offloads(input_)) builder_.host_wait(builder_.record(streams_.all_reduce));  // F60
}

void Fsdp1Gradients::shared_kernel(StreamId stream, const Kernel& kernel, std::string_view label) {
  builder_.kernels(stream, std::span(&kernel, 1), label);
}

}  // namespace takt
