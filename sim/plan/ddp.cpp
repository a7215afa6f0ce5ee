// DistributedDataParallel (semantics D1 to D15), steady state: the buckets are those of the rebuild after the first
// iteration.
//
// Backward of a synchronising micro-step: when a gradient arrives, one kernel on the compute stream writes it, divided
// by the number of ranks, into its slice of the bucket (D6). When a bucket is full, and all before it were launched,
// its all-reduce goes to the group's stream, which waits for compute as it is then (D7). After the backward, in bucket
// order, compute waits for the all-reduce and copies the slices back (D9); the optimizer starts after the last (D10).
// Other micro-steps add to the gradients and communicate nothing (no_sync, D13).
#include <array>

#include "plan/ddp_bucket.hpp"
#include "plan/step.hpp"

namespace takt {
namespace {

/// A block's backward with what the reducer does to each gradient as it arrives.
struct ReducingBackward {
  std::vector<Kernel> kernels;
  std::vector<std::size_t> arrived;          // of each gradient by arrival: kernels up to and with its copy
};

/// What the reducer does with the gradients of a kind of block, in order of arrival.
struct KindGradients {
  std::vector<ReducedTensor> tensors;
  std::vector<Kernel> accumulate, out_of_bucket;
  ReducingBackward first, later;             // later micro-steps add to the gradients before they copy them
  Bytes stored{};
};

class DdpWriter {
 public:
  explicit DdpWriter(const StepInput& input);
  WrittenStep write() &&;

 private:
  void assign();
  void backward(std::int64_t micro_step, bool synchronise);
  void reducing_backward(std::size_t block, const ReducingBackward& backward);
  void launch_full_buckets();
  void finalize_backward();
  const KindGradients& gradients(std::size_t block) const { return gradients_[input_.workload.blocks[block]]; }
  bool views() const { return input_.scenario.parallel.gradient_as_bucket_view; }

  const StepInput& input_;
  ProgramBuilder builder_;
  StreamId compute_, all_reduce_;
  CommSlot world_;
  BlockWriter blocks_;
  std::vector<KindGradients> gradients_;
  std::vector<Bucket> buckets_;              // of gradients numbered by arrival over the whole model
  std::vector<std::vector<Kernel>> copies_back_;   // of each bucket
  std::vector<std::uint32_t> bucket_of_;     // of each gradient by arrival
  std::vector<std::size_t> missing_;         // gradients each bucket still waits for
  std::vector<Event> reduced_;               // of each launched bucket
  std::size_t arrived_ = 0;
};

KindGradients kind_gradients(const StepInput& input, const BlockKind& kind) {
  KindGradients result;
  std::size_t issued = 0;
  const auto arrive = [&](ReducingBackward& backward, const Arrival& arrival, std::span<const Kernel> actions) {
    backward.kernels.insert(backward.kernels.end(), kind.backward.begin() + static_cast<std::ptrdiff_t>(issued),
                            kind.backward.begin() + static_cast<std::ptrdiff_t>(arrival.after_kernels));
    backward.kernels.insert(backward.kernels.end(), actions.begin(), actions.end());
    backward.arrived.push_back(backward.kernels.size());
  };
  for (const Arrival& arrival : arrivals(kind)) {
    const Parameter& parameter = kind.parameters[arrival.parameter];
    const Bytes bytes = stored_size(parameter.elements(), parameter.gradient_bytes);
    std::array<Kernel, 2> actions = {input.pricer.memory("accumulate gradient", bytes * 3),
                                     copy_kernel(input.pricer, "gradient to bucket", bytes, bytes)};
    actions[1].host = input.scenario.assumptions.ddp_hook;  // the hook that issues the copy (H1)
    arrive(result.first, arrival, std::span(actions).subspan(1));
    arrive(result.later, arrival, actions);
    issued = arrival.after_kernels;
    result.tensors.push_back({bytes, parameter.gradient_bytes});
    result.accumulate.push_back(actions.front());
    result.out_of_bucket.push_back(copy_kernel(input.pricer, "bucket to gradient", bytes, bytes));
  }
  for (ReducingBackward* backward : {&result.first, &result.later}) {
    backward->kernels.insert(backward->kernels.end(), kind.backward.begin() + static_cast<std::ptrdiff_t>(issued),
                             kind.backward.end());
  }
  result.stored = block_sizes(input.workload, kind).gradients;
  return result;
}

DdpWriter::DdpWriter(const StepInput& input)
    : input_(input),
      builder_(builder_options(input.scenario)),
      compute_(builder_.stream(StreamKind::compute, "compute")),
      all_reduce_(builder_.stream(StreamKind::all_reduce, "all-reduce")),
      world_(builder_.comm("world")),
      blocks_(builder_, input.workload, compute_) {
  for (const BlockKind& kind : input.workload.kinds) gradients_.push_back(kind_gradients(input, kind));
  assign();
}

/// Buckets over the whole model in the order of arrival: last block first.
void DdpWriter::assign() {
  std::vector<ReducedTensor> tensors;
  std::vector<Kernel> copies;
  for (std::size_t block = input_.workload.blocks.size(); block-- > 0;) {
    const KindGradients& of = gradients(block);
    tensors.insert(tensors.end(), of.tensors.begin(), of.tensors.end());
    copies.insert(copies.end(), of.out_of_bucket.begin(), of.out_of_bucket.end());
  }
  const ParallelSettings& parallel = input_.scenario.parallel;
  const std::array<Bytes, 2> limits = {parallel.first_bucket_small ? first_bucket_limit : parallel.bucket_size,
                                       parallel.bucket_size};
  buckets_ = assign_buckets(tensors, limits);
  bucket_of_.resize(tensors.size());
  copies_back_.resize(buckets_.size());
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    for (const std::uint32_t member : buckets_[b].members) {
      bucket_of_[member] = static_cast<std::uint32_t>(b);
      copies_back_[b].push_back(copies[member]);
    }
  }
}

WrittenStep DdpWriter::write() && {
  const BlockSizes model = model_sizes(input_.workload);
  builder_.resident(MemoryCategory::weights, model.frozen_weights + model.trainable_weights);
  builder_.resident(MemoryCategory::optimizer, model.optimizer);
  // Buckets stay allocated; as views they are the gradients themselves (D15).
  for (const Bucket& bucket : buckets_) builder_.resident(MemoryCategory::buffers, bucket.bytes);
  const std::int64_t micro_steps = input_.scenario.batch.gradient_accumulation;
  for (std::int64_t micro_step = 0; micro_step < micro_steps; ++micro_step) {
    for (std::size_t block = 0; block < input_.workload.blocks.size(); ++block) blocks_.forward(block);
    const bool last = micro_step + 1 == micro_steps;
    backward(micro_step, input_.scenario.parallel.sync_each_micro_step || last);
    write_loss_read_back(builder_, compute_, input_);
  }
  write_clipping(builder_, compute_, input_, model.trainable_elements, std::nullopt);
  write_optimizer(builder_, compute_, input_, model.trainable_elements, views() ? Bytes{} : model.gradients);
  return {std::move(builder_).finish(), {RankGroup::world}, model.total()};
}

void DdpWriter::backward(std::int64_t micro_step, bool synchronise) {
  arrived_ = 0;
  reduced_.clear();
  missing_.clear();
  for (const Bucket& bucket : buckets_) missing_.push_back(bucket.members.size());
  for (std::size_t block = input_.workload.blocks.size(); block-- > 0;) {
    if (!input_.workload.block(block).has_backward) continue;
    if (micro_step == 0 && !views()) {
      builder_.allocate(compute_, MemoryCategory::gradients, gradients(block).stored);
    }
    if (synchronise) {
      reducing_backward(block, micro_step == 0 ? gradients(block).first : gradients(block).later);
      continue;
    }
    blocks_.backward(block);
    if (micro_step > 0) builder_.kernels(compute_, gradients(block).accumulate, "accumulate");
  }
  if (synchronise) finalize_backward();
}

void DdpWriter::reducing_backward(std::size_t block, const ReducingBackward& backward) {
  const std::span<const Kernel> kernels = backward.kernels;
  blocks_.begin_backward(block);
  std::size_t issued = 0;
  for (const std::size_t arrived : backward.arrived) {
    if (--missing_[bucket_of_[arrived_++]] > 0) continue;
    blocks_.backward_kernels(block, kernels.subspan(issued, arrived - issued));
    issued = arrived;
    launch_full_buckets();
  }
  blocks_.backward_kernels(block, kernels.subspan(issued));
  blocks_.end_backward(block);
}

void DdpWriter::launch_full_buckets() {
  while (reduced_.size() < buckets_.size() && missing_[reduced_.size()] == 0) {
    const std::size_t next = reduced_.size();
    builder_.phase(Phase::communication);
    builder_.unit(static_cast<std::uint32_t>(next));
    builder_.wait(all_reduce_, compute_);
    const CollectiveCall call{CollectiveKind::all_reduce, buckets_[next].bytes};
    reduced_.push_back(builder_.collective(all_reduce_, world_, call, "all-reduce"));
  }
}

void DdpWriter::finalize_backward() {
  builder_.phase(Phase::backward);
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    builder_.unit(static_cast<std::uint32_t>(b));
    builder_.wait(compute_, reduced_[b]);
    if (!views()) builder_.kernels(compute_, copies_back_[b], "bucket to gradient");
  }
}

}  // namespace

WrittenStep write_ddp_step(const StepInput& input) { return DdpWriter(input).write(); }

}  // namespace takt
