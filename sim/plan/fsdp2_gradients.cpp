#include "plan/fsdp2_gradients.hpp"

#include "plan/cpu_optimizer.hpp"

#include "workload/precision.hpp"

#include <span>

namespace takt {

Fsdp2Gradients::Fsdp2Gradients(ProgramBuilder& builder, const StepInput& input, const Fsdp2Streams& streams,
                               const Fsdp2Model& model)
    : builder_(builder), input_(input), streams_(streams), model_(model) {
  const bool overflows = reduce_precision(input.scenario.finetune) == Precision::fp16;
  if (overflows) divide_ = reduction_factors(input.shard_ranks * input.replicas);
}

void Fsdp2Gradients::keep(Fsdp2Unit& unit) {
  const UnitSizes& sizes = *unit.sizes;
  builder_.phase(Phase::backward);
  builder_.unit(unit.number);
  if (unit.kept_gradients) {
    for (const std::size_t block : unit.blocks) {
      builder_.kernels(streams_.compute, model_.accumulate(block).unsharded, "accumulate");
    }
    builder_.release(streams_.compute, MemoryCategory::gradients, sizes.gradients);
  } else if (sizes.accumulated != sizes.gradients) {
    builder_.allocate(streams_.compute, MemoryCategory::gradients, sizes.accumulated);
    shared_kernel(streams_.compute, unit.kernels->cast_kept, "accumulate");
    builder_.release(streams_.compute, MemoryCategory::gradients, sizes.gradients);
  }
  unit.kept_gradients = true;
}

void Fsdp2Gradients::reduce(Fsdp2Unit& unit, bool last_micro_step) {
  const UnitSizes& sizes = *unit.sizes;
  if (last_reduce_scatter_) builder_.wait(streams_.compute, *last_reduce_scatter_);
  builder_.phase(Phase::backward);
  builder_.unit(unit.number);
  builder_.allocate(streams_.compute, MemoryCategory::buffers, sizes.reduced);
  shared_kernel(streams_.compute, unit.kernels->reduce_copy_in, "reduce-scatter copy-in");
  const Bytes source = unit.kept_gradients ? sizes.accumulated : sizes.gradients;
  builder_.release(streams_.compute, MemoryCategory::gradients, source);
  unit.kept_gradients = false;

  builder_.phase(Phase::communication);
  const StreamId stream = streams_.reduce_scatter;
  builder_.wait(stream, streams_.compute);
  if (divide_.before > 1.0) shared_kernel(stream, unit.kernels->divide_before, "divide");
  if (unit.reduced_gradients)
    builder_.allocate(stream, MemoryCategory::buffers, sizes.reduced_shard);
  else
    builder_.allocate(stream, MemoryCategory::gradients, sizes.gradient_shard);
  if (input_.shard_ranks > 1) {
    builder_.collective(stream, streams_.shard, call(CollectiveKind::reduce_scatter, sizes.reduced), "reduce-scatter");
  }
  last_reduce_scatter_ = builder_.record(stream);
  builder_.release(stream, MemoryCategory::buffers, sizes.reduced);
  all_reduce_and_accumulate(unit, last_micro_step);
}

/// What follows a reduce-scatter: over the replicas (S13), then into the sharded gradients. If the replicas are reduced
/// in the last micro-step only, the sums so far are added first.
void Fsdp2Gradients::all_reduce_and_accumulate(Fsdp2Unit& unit, bool last_micro_step) {
  const bool partial = input_.replicas > 1 && !input_.scenario.parallel.fsdp2.all_reduce_each_micro_step;
  if (partial) accumulate(unit, streams_.reduce_scatter);
  const bool reduces = !partial || last_micro_step;
  if (input_.replicas > 1 && reduces) {
    builder_.wait(streams_.all_reduce, streams_.reduce_scatter);
    const CollectiveCall all_reduce = call(CollectiveKind::all_reduce, unit.sizes->reduced_shard);
    builder_.collective(streams_.all_reduce, streams_.replicate, all_reduce, "all-reduce");
  }
  if (divide_.after > 1.0 && reduces) shared_kernel(streams_.all_reduce, unit.kernels->divide_after, "divide");
  if (fsdp_offloads(input_)) return send_to_host(unit);
  if (!partial) accumulate(unit, streams_.all_reduce);
  unit.reduced_gradients = true;
}

/// The sharded gradient goes to host memory. Where one is there already, the CPU waits and adds the two (S18).
void Fsdp2Gradients::send_to_host(Fsdp2Unit& unit) {
  const UnitSizes& sizes = *unit.sizes;
  const Event sent = builder_.copy(streams_.all_reduce, device_to_host_path, sizes.gradient_shard, "gradients to host");
  const bool adds = unit.gradients_on_host;
  builder_.release(streams_.all_reduce, MemoryCategory::gradients, sizes.gradient_shard);
  unit.gradients_on_host = true;
  if (!adds) return;
  builder_.host_wait(sent);
  builder_.copy(streams_.all_reduce, cpu_memory_path, sizes.gradient_shard * 3, "accumulate on CPU");
}

void Fsdp2Gradients::accumulate(const Fsdp2Unit& unit, StreamId stream) {
  if (!unit.reduced_gradients) return;
  for (const std::size_t block : unit.blocks) {
    builder_.kernels(stream, model_.accumulate(block).sharded, "accumulate");
  }
  builder_.release(stream, MemoryCategory::buffers, unit.sizes->reduced_shard);
}

void Fsdp2Gradients::finish() {
  last_reduce_scatter_.reset();
  builder_.wait(streams_.compute, streams_.reduce_scatter);
  builder_.wait(streams_.compute, streams_.all_reduce);
  if (fsdp_offloads(input_)) builder_.host_wait(builder_.record(streams_.all_reduce));  // S14
}

CollectiveCall Fsdp2Gradients::call(CollectiveKind kind, Bytes bytes) const {
  return {kind, bytes, divide_.before > 1.0 ? Reduction::sum : Reduction::average};
}

void Fsdp2Gradients::shared_kernel(StreamId stream, const Kernel& kernel, std::string_view label) {
  builder_.kernels(stream, std::span(&kernel, 1), label);
}

}  // namespace takt
