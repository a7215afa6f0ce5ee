// DistributedDataParallel (semantics D1 to D16).
//
// Buckets: in the first iteration one a format (D2); from the second on those of the rebuild in the order of arrival,
// whose indices rank 0 broadcasts at the second forward (D4). With find_unused_parameters they follow the order of
// registration for ever (D3). The steady state is the third iteration.
//
// Backward of a synchronising micro-step: when a gradient arrives, one kernel on the compute stream writes it, divided
// by the number of ranks, into its slice of the bucket (D6). When a bucket is full, and all before it were launched,
// its all-reduce goes to the group's stream, which waits for compute as it is then (D7). After the backward, in bucket
// order, compute waits for the all-reduce and copies the slices back (D9); the optimizer starts after the last (D10).
// Other micro-steps add to the gradients and communicate nothing (no_sync, D13). The first iteration of a static graph
// copies and reduces after its backward (D12). A forward that follows a synchronising one first gets rank 0's buffers
// (D14): DDP asks for them with the flag that the forward before it left. A communication hook casts and divides a full
// bucket on compute and casts it back behind the all-reduce (D16).
#include "plan/binding.hpp"
#include "plan/ddp_bucket.hpp"
#include "plan/step.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace takt {
namespace {

/// A block's backward with what the reducer does to each gradient as it arrives.
struct ReducingBackward {
  std::vector<Kernel> kernels;
  std::vector<std::size_t> arrived;  // of each gradient by arrival: kernels up to and with its copy
};

/// Iterations told apart: before the rebuild of the buckets, at it, after it.
enum class Iteration { first, second, steady };

/// What a communication hook does to a bucket.
struct HookKernels {
  Kernel compress, divide, decompress;
  Bytes compressed{};
};

/// What the reducer does with the gradients of a kind of block, in order of arrival.
struct KindGradients {
  std::vector<ReducedTensor> tensors;
  std::vector<std::size_t> registered;  // place of each among the block's trainable parameters
  std::vector<Kernel> accumulate, into_bucket, out_of_bucket;
  ReducingBackward first, later;  // later micro-steps add to the gradients before they copy them
  Bytes stored{};
};

class DdpWriter {
 public:
  explicit DdpWriter(const StepInput& input);
  WrittenStep write() &&;

 private:
  void assign();
  std::vector<Bucket> layout(std::span<const ReducedTensor> tensors) const;
  std::vector<Bucket> layout_by_registration(std::span<const ReducedTensor> tensors) const;
  void add_hooks(std::span<const ReducedTensor> tensors);
  void broadcast_from_rank_0(Bytes bytes, std::string_view label);
  void rebuild();
  void backward(std::int64_t micro_step, bool synchronise);
  void reducing_backward(std::size_t block, const ReducingBackward& backward);
  void reduce_after_backward();
  void launch_full_buckets();
  Event reduce(std::size_t bucket);
  void reduce_used_map();
  void finalize_backward();
  const KindGradients& gradients(std::size_t block) const { return gradients_[input_.workload.blocks[block]]; }
  bool views() const { return input_.scenario.parallel.gradient_as_bucket_view; }

  bool by_registration() const { return ddp_.find_unused_parameters && !ddp_.static_graph; }

  const StepInput& input_;
  const DdpSettings& ddp_;
  Iteration iteration_;
  ProgramBuilder builder_;
  StreamId compute_, all_reduce_;
  CommSlot world_;
  BlockWriter blocks_;
  std::vector<KindGradients> gradients_;
  std::vector<Bucket> buckets_;                   // of gradients numbered by arrival over the whole model
  std::vector<std::vector<Kernel>> copies_back_;  // of each bucket
  std::vector<HookKernels> hooks_;                // of each bucket, if there is a hook
  std::vector<std::uint32_t> bucket_of_;          // of each gradient by arrival
  std::vector<std::size_t> missing_;              // gradients each bucket still waits for
  std::vector<Event> reduced_;                    // of each launched bucket
  std::size_t arrived_ = 0;
};

/// Place of a parameter among the trainable ones of its block.
std::size_t registered_place(const BlockKind& kind, std::uint32_t parameter) {
  const auto end = kind.parameters.begin() + parameter;
  return static_cast<std::size_t>(
      std::count_if(kind.parameters.begin(), end, [](const Parameter& p) { return p.trainable; }));
}

Iteration iteration_of(std::int64_t number) {
  if (number == 1) return Iteration::first;
  return number == 2 ? Iteration::second : Iteration::steady;
}

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
    result.registered.push_back(registered_place(kind, arrival.parameter));
    result.accumulate.push_back(actions.front());
    result.into_bucket.push_back(actions.back());
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
      ddp_(input.scenario.parallel.ddp),
      iteration_(iteration_of(input.scenario.assumptions.iteration)),
      builder_(builder_options(input.scenario)),
      compute_(builder_.stream(StreamKind::compute, "compute")),
      all_reduce_(builder_.stream(StreamKind::all_reduce, "all-reduce")),
      world_(builder_.comm("world")),
      blocks_(builder_, input.workload, compute_) {
  for (const BlockKind& kind : input.workload.kinds) gradients_.push_back(kind_gradients(input, kind));
  assign();
}

/// Buckets over the whole model; gradients are numbered in the order of arrival: last block first.
void DdpWriter::assign() {
  std::vector<ReducedTensor> tensors;
  std::vector<Kernel> copies;
  for (std::size_t block = input_.workload.blocks.size(); block-- > 0;) {
    const KindGradients& of = gradients(block);
    tensors.insert(tensors.end(), of.tensors.begin(), of.tensors.end());
    copies.insert(copies.end(), of.out_of_bucket.begin(), of.out_of_bucket.end());
  }
  buckets_ = layout(tensors);
  bucket_of_.resize(tensors.size());
  copies_back_.resize(buckets_.size());
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    for (const std::uint32_t member : buckets_[b].members) {
      bucket_of_[member] = static_cast<std::uint32_t>(b);
      copies_back_[b].push_back(copies[member]);
    }
  }
  if (ddp_.comm_hook != CommHook::none) add_hooks(tensors);
}

std::vector<Bucket> DdpWriter::layout(std::span<const ReducedTensor> tensors) const {
  if (by_registration()) return layout_by_registration(tensors);
  constexpr std::array<Bytes, 1> unlimited = {Bytes(std::numeric_limits<std::int64_t>::max())};
  if (iteration_ == Iteration::first) return assign_buckets(tensors, unlimited);
  const ParallelSettings& parallel = input_.scenario.parallel;
  const std::array<Bytes, 2> limits = {parallel.first_bucket_small ? first_bucket_limit : parallel.bucket_size,
                                       parallel.bucket_size};
  return assign_buckets(tensors, limits);
}

/// Filled in the order of registration, first block first; members are named by their arrival.
std::vector<Bucket> DdpWriter::layout_by_registration(std::span<const ReducedTensor> tensors) const {
  std::vector<std::uint32_t> arrival(tensors.size());  // of each gradient by registration
  std::size_t arrived = 0, registered_behind = tensors.size();
  for (std::size_t block = input_.workload.blocks.size(); block-- > 0;) {
    const KindGradients& of = gradients(block);
    registered_behind -= of.tensors.size();
    for (const std::size_t place : of.registered) {
      arrival[registered_behind + place] = static_cast<std::uint32_t>(arrived++);
    }
  }
  std::vector<ReducedTensor> by_registration;
  for (const std::uint32_t position : arrival) by_registration.push_back(tensors[position]);
  const ParallelSettings& parallel = input_.scenario.parallel;
  const std::array<Bytes, 2> limits = {parallel.first_bucket_small ? first_bucket_limit : parallel.bucket_size,
                                       parallel.bucket_size};
  std::vector<Bucket> buckets = registration_buckets(by_registration, limits);
  for (Bucket& bucket : buckets) {
    for (std::uint32_t& member : bucket.members) member = arrival[member];
  }
  return buckets;
}

void DdpWriter::add_hooks(std::span<const ReducedTensor> tensors) {
  constexpr double compressed_bytes = 2.0;
  for (const Bucket& bucket : buckets_) {
    const double element = tensors[bucket.members.front()].element_bytes;
    const Bytes compressed = stored_size(bucket.bytes.count(), compressed_bytes / element);
    hooks_.push_back({copy_kernel(input_.pricer, "compress bucket", bucket.bytes, compressed),
                      copy_kernel(input_.pricer, "divide bucket", compressed, compressed),
                      copy_kernel(input_.pricer, "decompress bucket", compressed, bucket.bytes), compressed});
  }
}

WrittenStep DdpWriter::write() && {
  const BlockSizes model = model_sizes(input_.workload);
  builder_.resident(MemoryCategory::weights, model.frozen_weights + model.trainable_weights);
  builder_.resident(MemoryCategory::optimizer, model.optimizer);
  // Buckets stay allocated; as views they are the gradients themselves (D15).
  for (const Bucket& bucket : buckets_) builder_.resident(MemoryCategory::buffers, bucket.bytes);
  const std::int64_t micro_steps = input_.scenario.batch.gradient_accumulation;
  if (iteration_ == Iteration::second && !by_registration()) rebuild();
  bool synchronised = true;  // the forward before this one
  for (std::int64_t micro_step = 0; micro_step < micro_steps; ++micro_step) {
    if (synchronised && ddp_.broadcast_buffers) broadcast_from_rank_0(input_.workload.buffers, "broadcast of buffers");
    for (std::size_t block = 0; block < input_.workload.blocks.size(); ++block) blocks_.forward(block);
    synchronised = input_.scenario.parallel.sync_each_micro_step || micro_step + 1 == micro_steps;
    backward(micro_step, synchronised);
    write_loss_read_back(builder_, compute_, input_);
  }
  write_clipping(builder_, compute_, input_, model.trainable_elements, std::nullopt);
  write_optimizer(builder_, compute_, input_, model.trainable_elements, views() ? Bytes{} : model.gradients);
  return {std::move(builder_).finish(), {RankGroup::world}, model.total()};
}

/// Compute waits for it; nothing to send is not sent.
void DdpWriter::broadcast_from_rank_0(Bytes bytes, std::string_view label) {
  if (bytes == Bytes{}) return;
  builder_.phase(Phase::communication);
  builder_.unit(no_unit);
  builder_.wait(all_reduce_, compute_);
  builder_.wait(compute_, builder_.collective(all_reduce_, world_, {CollectiveKind::broadcast, bytes}, label));
}

/// The reducer's indices and bucket sizes go to the card, from rank 0 to all, and back, for which the CPU waits (D4).
void DdpWriter::rebuild() {
  constexpr std::int64_t index_bytes = 4;
  const auto indices = static_cast<std::int64_t>(bucket_of_.size());
  const auto sizes = static_cast<std::int64_t>(buckets_.size());
  for (const Bytes bytes : {Bytes(indices * index_bytes), Bytes(sizes * index_bytes)}) {
    builder_.phase(Phase::communication);
    builder_.copy(compute_, host_to_device_path, bytes, "bucket indices");
    broadcast_from_rank_0(bytes, "broadcast of bucket indices");
    builder_.host_wait(builder_.copy(compute_, device_to_host_path, bytes, "bucket indices"));
  }
}

void DdpWriter::backward(std::int64_t micro_step, bool synchronise) {
  arrived_ = 0;
  reduced_.clear();
  missing_.clear();
  for (const Bucket& bucket : buckets_) missing_.push_back(bucket.members.size());
  const bool delays = ddp_.static_graph && iteration_ == Iteration::first;
  for (std::size_t block = input_.workload.blocks.size(); block-- > 0;) {
    if (!input_.workload.block(block).has_backward) continue;
    if (micro_step == 0 && !views()) {
      builder_.allocate(compute_, MemoryCategory::gradients, gradients(block).stored);
    }
    if (synchronise && !delays) {
      reducing_backward(block, micro_step == 0 ? gradients(block).first : gradients(block).later);
      continue;
    }
    blocks_.backward(block);
    if (micro_step > 0) builder_.kernels(compute_, gradients(block).accumulate, "accumulate");
  }
  if (!synchronise) return;
  if (delays) reduce_after_backward();
  if (by_registration()) reduce_used_map();
  finalize_backward();
}

void DdpWriter::reduce_after_backward() {
  for (std::size_t block = input_.workload.blocks.size(); block-- > 0;) {
    blocks_.at(Phase::backward, block);
    builder_.kernels(compute_, gradients(block).into_bucket, "gradient to bucket");
  }
  missing_.assign(buckets_.size(), 0);
  launch_full_buckets();
}

/// Which parameters were used, a number each, after the last bucket (D11).
void DdpWriter::reduce_used_map() {
  constexpr std::int64_t flag_bytes = 4;
  const Bytes bytes(static_cast<std::int64_t>(bucket_of_.size()) * flag_bytes);
  builder_.phase(Phase::communication);
  builder_.unit(no_unit);
  builder_.copy(compute_, host_to_device_path, bytes, "used parameters");
  builder_.wait(all_reduce_, compute_);
  builder_.collective(all_reduce_, world_, {CollectiveKind::all_reduce, bytes}, "all-reduce of used parameters");
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
  while (reduced_.size() < buckets_.size() && missing_[reduced_.size()] == 0)
    reduced_.push_back(reduce(reduced_.size()));
}

Event DdpWriter::reduce(std::size_t bucket) {
  builder_.phase(Phase::communication);
  builder_.unit(static_cast<std::uint32_t>(bucket));
  const HookKernels* hook = hooks_.empty() ? nullptr : &hooks_[bucket];
  const Bytes bytes = hook != nullptr ? hook->compressed : buckets_[bucket].bytes;
  if (hook != nullptr) {
    builder_.allocate(compute_, MemoryCategory::buffers, hook->compressed);
    builder_.kernel(compute_, hook->compress, "compress");
    builder_.kernel(compute_, hook->divide, "compress");
  }
  builder_.wait(all_reduce_, compute_);
  builder_.collective(all_reduce_, world_, {CollectiveKind::all_reduce, bytes}, "all-reduce");
  if (hook != nullptr) {
    builder_.kernel(all_reduce_, hook->decompress, "decompress");
    builder_.release(all_reduce_, MemoryCategory::buffers, hook->compressed);
  }
  return builder_.record(all_reduce_);
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

WrittenStep write_ddp_step(const StepInput& input) {
  return DdpWriter(input).write();
}

}  // namespace takt
