// DeepSpeed's ZeRO stages 1 and 2: all weights on every rank, optimizer states in partitions (semantics Z2 to Z7, Z16).
//
// Stage 2, and stage 1 with overlap_comm, reduce gradients as they arrive in backward; stage 2 in every micro-step (Z3).
// Stage 1 keeps whole gradients and reduces them at the last micro-step, without overlap_comm in one go behind the
// backward. After the optimizer one all-gather brings the updated partitions together, exposed, on the compute stream (Z7).
#include "plan/ddp_bucket.hpp"
#include "plan/step.hpp"
#include "plan/zero_reducer.hpp"
#include "plan/zero_states.hpp"

#include <optional>

namespace takt {
namespace {

/// What the reducer needs of a kind of block.
struct KindArrivals {
  std::vector<Arrival> arrivals;
  std::vector<std::int64_t> elements;  ///< of each arriving gradient
  std::vector<Kernel> accumulate;      ///< adds it to that of the micro-steps before
  Bytes gradients{};                   ///< all of the block's
};

class Zero12Writer {
 public:
  explicit Zero12Writer(const StepInput& input)
      : input_(input),
        sizes_(zero_sizes(input)),
        keeps_gradients_(input.scenario.parallel.strategy == Strategy::zero1),
        overlaps_(overlaps_reductions(input.scenario.parallel)),
        builder_(builder_options(input.scenario)),
        compute_(builder_.stream(StreamKind::compute, "compute")),
        reduction_(builder_.stream(StreamKind::all_reduce, "reduction")),
        world_(builder_.comm("world")),
        blocks_(builder_, input.workload, compute_),
        reducer_(builder_, input, compute_, reduction_, world_, sizes_.gradient_bytes) {
    for (const BlockKind& kind : input.workload.kinds) kinds_.push_back(arrivals_of(kind));
  }

  WrittenStep write() &&;

 private:
  KindArrivals arrivals_of(const BlockKind& kind) const;
  const KindArrivals& kind(std::size_t block) const { return kinds_[input_.workload.blocks[block]]; }
  bool has_backward(std::size_t block) const { return input_.workload.block(block).has_backward; }
  void reside();
  void backward(std::int64_t micro_step, bool last);
  void reducing_backward(std::size_t block, std::int64_t micro_step);
  void reduce_after_backward();
  void gather_weights();

  const StepInput& input_;
  ZeroSizes sizes_;
  bool keeps_gradients_;
  bool overlaps_;
  ProgramBuilder builder_;
  StreamId compute_, reduction_;
  CommSlot world_;
  BlockWriter blocks_;
  ZeroReducer reducer_;
  std::vector<KindArrivals> kinds_;
};

KindArrivals Zero12Writer::arrivals_of(const BlockKind& kind) const {
  KindArrivals result;
  result.arrivals = arrivals(kind);
  for (const Arrival& arrival : result.arrivals) {
    const Parameter& parameter = kind.parameters[arrival.parameter];
    const Bytes bytes = stored_size(parameter.elements(), parameter.gradient_bytes);
    result.elements.push_back(parameter.elements());
    result.accumulate.push_back(input_.pricer.memory("accumulate gradient", bytes * 3));
    result.gradients += bytes;
  }
  return result;
}

void Zero12Writer::reside() {
  builder_.resident(MemoryCategory::weights, sizes_.compute_weights);
  if (input_.scenario.parallel.offload_optimizer == Offload::none) {
    builder_.resident(MemoryCategory::optimizer, sizes_.optimizer);
    if (!keeps_gradients_) builder_.resident(MemoryCategory::gradients, sizes_.partition_gradients);
  }
}

WrittenStep Zero12Writer::write() && {
  reside();
  const std::int64_t micro_steps = input_.scenario.batch.gradient_accumulation;
  for (std::int64_t micro_step = 0; micro_step < micro_steps; ++micro_step) {
    for (std::size_t block = 0; block < input_.workload.blocks.size(); ++block) blocks_.forward(block);
    backward(micro_step, micro_step + 1 == micro_steps);
    write_loss_read_back(builder_, compute_, input_);
  }
  write_zero_optimizer(builder_, compute_, world_, input_, sizes_);
  if (keeps_gradients_ && sizes_.trainable_elements > 0) {
    builder_.release(compute_, MemoryCategory::gradients, sizes_.gradients);
  }
  gather_weights();
  const bool offloads = input_.scenario.parallel.offload_optimizer != Offload::none;
  const Bytes gradients = keeps_gradients_ ? sizes_.gradients : sizes_.partition_gradients;
  const Bytes states = sizes_.compute_weights + (offloads && !keeps_gradients_ ? Bytes{} : gradients) +
                       (offloads ? Bytes{} : sizes_.optimizer);
  return {std::move(builder_).finish(), {RankGroup::world}, states};
}

void Zero12Writer::backward(std::int64_t micro_step, bool last) {
  const bool reduces = last || !keeps_gradients_;
  const bool as_they_arrive = reduces && (overlaps_ || !keeps_gradients_);
  reducer_.begin_micro_step(keeps_gradients_ ? 0 : micro_step);
  if (reduces) builder_.allocate(compute_, MemoryCategory::buffers, reducer_.buffers());
  for (std::size_t block = input_.workload.blocks.size(); block-- > 0;) {
    if (!has_backward(block)) continue;
    const bool allocates = !keeps_gradients_ || micro_step == 0;
    if (allocates) builder_.allocate(compute_, MemoryCategory::gradients, kind(block).gradients);
    if (as_they_arrive) {
      reducing_backward(block, micro_step);
    } else {
      blocks_.backward(block);
      if (micro_step > 0) builder_.kernels(compute_, kind(block).accumulate, "accumulate");
    }
    // In the bucket, and no longer needed.
    if (!keeps_gradients_) builder_.release(compute_, MemoryCategory::gradients, kind(block).gradients);
  }
  if (reduces && !as_they_arrive) reduce_after_backward();
  if (!reduces) return;
  reducer_.finish_micro_step();
  builder_.release(compute_, MemoryCategory::buffers, reducer_.buffers());
}

void Zero12Writer::reducing_backward(std::size_t block, std::int64_t micro_step) {
  const std::span<const Kernel> kernels = input_.workload.block(block).backward;
  const KindArrivals& of = kind(block);
  blocks_.begin_backward(block);
  std::size_t issued = 0;
  for (std::size_t i = 0; i < of.arrivals.size(); ++i) {
    const std::size_t until = of.arrivals[i].after_kernels;
    blocks_.backward_kernels(block, kernels.subspan(issued, until - issued));
    issued = until;
    if (keeps_gradients_ && micro_step > 0) builder_.kernel(compute_, of.accumulate[i], "accumulate");
    reducer_.arrive(of.elements[i]);
  }
  blocks_.backward_kernels(block, kernels.subspan(issued));
  blocks_.end_backward(block);
}

void Zero12Writer::reduce_after_backward() {
  for (std::size_t block = input_.workload.blocks.size(); block-- > 0;) {
    if (!has_backward(block)) continue;
    blocks_.at(Phase::backward, block);
    for (const std::int64_t elements : kind(block).elements) reducer_.arrive(elements);
  }
}

/// The whole flat group in one call, whatever allgather_bucket_size says (Z7).
void Zero12Writer::gather_weights() {
  if (input_.shard_ranks == 1 || sizes_.trainable_elements == 0) return;
  builder_.phase(Phase::communication);
  builder_.unit(no_unit);
  const Bytes whole = stored_size(sizes_.own_elements, sizes_.gradient_bytes) * input_.shard_ranks;
  builder_.collective(compute_, world_, {CollectiveKind::all_gather, whole}, "all-gather");
}

}  // namespace

WrittenStep write_zero12_step(const StepInput& input) {
  return Zero12Writer(input).write();
}

}  // namespace takt
