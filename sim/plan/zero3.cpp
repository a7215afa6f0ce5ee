// DeepSpeed's ZeRO stage 3: every parameter in partitions, gathered module by module (semantics Z8 to Z13, Z16).
//
// A trace of module visits says what is used when: forward, and for each block of the backward its recomputation and its
// backward. Before a visit its parameters are gathered unless they were fetched ahead; compute waits; then parameters of
// later visits are gathered in one call, as far as the prefetch bucket and the limit of live parameters allow. Behind the
// visit they are freed, unless they are needed again soon. The host stops when more than two gathers are under way (Z11).
// A gather waits until compute is done with so many freed parameters that no more than max_live_parameters are held: the
// CPU is far ahead of compute, and without that the whole model would be gathered in no time.
// Gradients are reduce-scattered by buckets on a stream of their own, in every micro-step (Z12). The step ends with the
// optimizer over the partition and a gather of the small parameters that always stay (Z9, Z13).
#include "plan/binding.hpp"
#include "plan/ddp_bucket.hpp"
#include "plan/step.hpp"
#include "plan/zero_coordinator.hpp"
#include "plan/zero_modules.hpp"
#include "plan/zero_reducer.hpp"
#include "plan/zero_states.hpp"

#include <algorithm>
#include <deque>

namespace takt {
namespace {

/// The passes over a kind of block.
struct KindPasses {
  ModulePass forward, recompute, backward;
};

constexpr std::size_t most_ongoing_fetches = 2;
/// No trace is complete before the third iteration (Z8).
constexpr std::int64_t first_traced_iteration = 3;

class Zero3Writer {
 public:
  explicit Zero3Writer(const StepInput& input);
  WrittenStep write() &&;

 private:
  const BlockKind& kind(std::size_t block) const { return input_.workload.block(block); }
  const KindPasses& passes(std::size_t block) const { return passes_[input_.workload.blocks[block]]; }
  const Parameter& parameter(std::uint32_t number) const { return *parameters_[number]; }
  void number_parameters();
  void trace_micro_step();
  void trace_pass(std::size_t block, const ModulePass& pass);
  void reside();
  void forward(std::size_t block);
  void backward(std::size_t block);
  void pass(std::size_t block, const ModulePass& pass, Phase phase);
  void visit(std::size_t block, const ModuleVisit& visit, Phase phase);
  void kernels(std::size_t block, std::span<const Kernel> kernels, Phase phase);
  void gather(const std::vector<std::uint32_t>& parameters);
  void wait_for_room(std::int64_t elements);
  void gradients_of(std::size_t block, const ModuleVisit& visit);
  Bytes size_of(std::uint32_t parameter) const;
  Bytes padded(std::uint32_t parameter) const;

  const StepInput& input_;
  ZeroSizes sizes_;
  ProgramBuilder builder_;
  StreamId compute_, gather_, reduction_;
  CommSlot world_;
  BlockWriter blocks_;
  ZeroReducer reducer_;
  std::vector<KindPasses> passes_;
  std::vector<std::uint32_t> first_parameter_;  ///< of each block, in the numbering of the whole model
  std::vector<const Parameter*> parameters_;
  std::vector<GatheredParameter> gathered_;
  Trace trace_;                                 ///< of one micro-step
  std::vector<CoordinatorStep> steps_;
  std::size_t next_step_ = 0;
  std::deque<Event> ongoing_;                   ///< gathers that the host has not waited for
  /// Parameters that compute gives up at an event, and the elements that are held until then.
  struct Freed {
    Event when;
    std::int64_t elements = 0;
  };
  std::deque<Freed> freed_;
  std::int64_t held_ = 0;                       ///< elements gathered, less those of freed parameters waited for
  Bytes persistent_{};
};

Zero3Writer::Zero3Writer(const StepInput& input)
    : input_(input),
      sizes_(zero_sizes(input)),
      builder_(builder_options(input.scenario)),
      compute_(builder_.stream(StreamKind::compute, "compute")),
      gather_(builder_.stream(StreamKind::all_gather, "all-gather")),
      reduction_(builder_.stream(StreamKind::reduce_scatter, "reduce-and-partition")),
      world_(builder_.comm("world")),
      blocks_(builder_, input.workload, compute_),
      reducer_(builder_, input, compute_, reduction_, world_, sizes_.gradient_bytes) {
  for (const BlockKind& kind : input.workload.kinds) {
    passes_.push_back({forward_pass(kind, kind.forward), forward_pass(kind, kind.recompute),
                       backward_pass(kind, kind.backward)});
  }
  number_parameters();
  trace_micro_step();
  const ZeroSettings& zero = input.scenario.parallel.zero;
  const std::int64_t iteration = input.scenario.assumptions.iteration;
  const bool has_trace = iteration == 0 || iteration >= first_traced_iteration;
  steps_ = coordinate(gathered_, trace_, {zero.prefetch_bucket_size, zero.max_live_parameters, zero.max_reuse_distance,
                                          has_trace});
}

void Zero3Writer::number_parameters() {
  const std::int64_t threshold = input_.scenario.parallel.zero.param_persistence_threshold;
  for (std::size_t block = 0; block < input_.workload.blocks.size(); ++block) {
    first_parameter_.push_back(static_cast<std::uint32_t>(parameters_.size()));
    for (const Parameter& parameter : kind(block).parameters) {
      const bool persistent = parameter.elements() <= threshold;
      gathered_.push_back({parameter.elements(), persistent});
      if (persistent) persistent_ += stored_size(parameter.elements(), parameter.bytes);
      parameters_.push_back(&parameter);
    }
  }
}

void Zero3Writer::trace_pass(std::size_t block, const ModulePass& pass) {
  for (const ModuleVisit& visit : pass.visits) {
    std::vector<std::uint32_t>& numbers = trace_.emplace_back();
    for (const std::uint32_t parameter : visit.parameters) numbers.push_back(first_parameter_[block] + parameter);
  }
}

void Zero3Writer::trace_micro_step() {
  const std::size_t blocks = input_.workload.blocks.size();
  for (std::size_t block = 0; block < blocks; ++block) trace_pass(block, passes(block).forward);
  for (std::size_t block = blocks; block-- > 0;) {
    if (!kind(block).has_backward) continue;
    if (!kind(block).recompute.empty()) trace_pass(block, passes(block).recompute);
    trace_pass(block, passes(block).backward);
  }
}

Bytes Zero3Writer::size_of(std::uint32_t number) const {
  return stored_size(parameter(number).elements(), parameter(number).bytes);
}

/// With every rank's part equally long.
Bytes Zero3Writer::padded(std::uint32_t number) const {
  const std::int64_t ranks = input_.shard_ranks;
  const std::int64_t part = (parameter(number).elements() + ranks - 1) / ranks;
  return stored_size(part, parameter(number).bytes) * ranks;
}

void Zero3Writer::reside() {
  const ParallelSettings& parallel = input_.scenario.parallel;
  builder_.resident(MemoryCategory::weights, persistent_);
  if (parallel.offload_params == Offload::none) {
    builder_.resident(MemoryCategory::weights, sizes_.compute_weights / input_.shard_ranks);
  }
  if (parallel.offload_optimizer == Offload::none) {
    builder_.resident(MemoryCategory::gradients, sizes_.partition_gradients);
    builder_.resident(MemoryCategory::optimizer, sizes_.optimizer);
  }
  if (sizes_.trainable_elements > 0) builder_.resident(MemoryCategory::buffers, reducer_.buffers());
}

WrittenStep Zero3Writer::write() && {
  reside();
  const std::size_t blocks = input_.workload.blocks.size();
  for (std::int64_t micro_step = 0; micro_step < input_.scenario.batch.gradient_accumulation; ++micro_step) {
    next_step_ = 0;
    reducer_.begin_micro_step(micro_step);
    for (std::size_t block = 0; block < blocks; ++block) forward(block);
    for (std::size_t block = blocks; block-- > 0;) {
      if (kind(block).has_backward) backward(block);
    }
    reducer_.finish_micro_step();
    write_loss_read_back(builder_, compute_, input_);
  }
  builder_.wait(compute_, reduction_);
  write_zero_optimizer(builder_, compute_, world_, input_, sizes_);
  Bytes refreshed{};
  for (std::uint32_t i = 0; i < parameters_.size(); ++i) {
    if (gathered_[i].persistent && parameter(i).trainable) refreshed += padded(i);
  }
  if (refreshed > Bytes{} && input_.shard_ranks > 1) {
    builder_.phase(Phase::communication);
    builder_.unit(no_unit);
    builder_.collective(compute_, world_, {CollectiveKind::all_gather, refreshed}, "all-gather of small parameters");
  }
  const ParallelSettings& parallel = input_.scenario.parallel;
  Bytes states = persistent_;
  if (parallel.offload_params == Offload::none) states += sizes_.compute_weights / input_.shard_ranks;
  if (parallel.offload_optimizer == Offload::none) states += sizes_.partition_gradients + sizes_.optimizer;
  return {std::move(builder_).finish(), {RankGroup::world}, states};
}

void Zero3Writer::forward(std::size_t block) {
  if (kind(block).forward.empty() && passes(block).forward.visits.empty()) return;
  blocks_.begin_forward(block);
  pass(block, passes(block).forward, Phase::forward);
  blocks_.end_forward(block);
}

void Zero3Writer::backward(std::size_t block) {
  blocks_.begin_recompute(block);
  if (!kind(block).recompute.empty()) pass(block, passes(block).recompute, Phase::recompute);
  blocks_.end_recompute(block);
  pass(block, passes(block).backward, Phase::backward);
  blocks_.end_backward(block);
}

void Zero3Writer::pass(std::size_t block, const ModulePass& pass, Phase phase) {
  kernels(block, pass.before, phase);
  for (const ModuleVisit& each : pass.visits) visit(block, each, phase);
}

void Zero3Writer::kernels(std::size_t block, std::span<const Kernel> kernels, Phase phase) {
  if (kernels.empty()) return;
  if (phase == Phase::forward) blocks_.forward_kernels(block, kernels);
  if (phase == Phase::recompute) blocks_.recompute_kernels(block, kernels);
  if (phase == Phase::backward) blocks_.backward_kernels(block, kernels);
}

void Zero3Writer::visit(std::size_t block, const ModuleVisit& visit, Phase phase) {
  const CoordinatorStep& step = steps_[next_step_++];
  gather(step.fetch);
  builder_.wait(compute_, gather_);
  gather(step.prefetch);
  kernels(block, visit.kernels, phase);
  if (phase == Phase::backward) gradients_of(block, visit);
  Bytes released{};
  std::int64_t elements = 0;
  for (const std::uint32_t number : step.release) {
    released += size_of(number);
    elements += parameter(number).elements();
  }
  if (released == Bytes{} || builder_.record(compute_).ops.empty()) return;
  builder_.release(compute_, MemoryCategory::gathered, released);
  freed_.push_back({builder_.record(compute_), elements});
}

/// Lets the gather of `elements` wait until they have room.
void Zero3Writer::wait_for_room(std::int64_t elements) {
  held_ += elements;
  const std::int64_t most = input_.scenario.parallel.zero.max_live_parameters;
  while (held_ > most && !freed_.empty()) {
    builder_.wait(gather_, freed_.front().when);
    held_ -= freed_.front().elements;
    freed_.pop_front();
  }
}

/// One collective for all; of several the partitions are then copied together (Z8).
void Zero3Writer::gather(const std::vector<std::uint32_t>& numbers) {
  if (numbers.empty()) return;
  Bytes whole{}, full{}, own{};
  std::int64_t elements = 0;
  for (const std::uint32_t number : numbers) {
    whole += padded(number);
    full += size_of(number);
    elements += parameter(number).elements();
  }
  wait_for_room(elements);
  own = whole / input_.shard_ranks;
  if (ongoing_.size() > most_ongoing_fetches) {
    builder_.host_wait(ongoing_.front());
    ongoing_.pop_front();
  }
  builder_.phase(Phase::communication);
  const Offload offload = input_.scenario.parallel.offload_params;
  if (offload == Offload::nvme) builder_.copy(gather_, nvme_read_path, own, "parameters from NVMe");
  if (offload != Offload::none) builder_.copy(gather_, host_to_device_path, own, "parameters to card");
  builder_.allocate(gather_, MemoryCategory::gathered, full);
  if (input_.shard_ranks > 1) {
    builder_.collective(gather_, world_, {CollectiveKind::all_gather, whole}, "all-gather");
    if (numbers.size() > 1) {
      builder_.kernel(gather_, copy_kernel(input_.pricer, "join partitions", whole, full), "join partitions");
    }
  } else {
    builder_.kernel(gather_, copy_kernel(input_.pricer, "take parameters", full, full), "take parameters");
  }
  ongoing_.push_back(builder_.record(gather_));
}

/// Gradients of a module are there when its backward has run.
void Zero3Writer::gradients_of(std::size_t block, const ModuleVisit& visit) {
  std::vector<std::uint32_t> arrived = visit.parameters;
  const std::vector<Parameter>& parameters = kind(block).parameters;
  std::stable_sort(arrived.begin(), arrived.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return parameters[a].used > parameters[b].used; });
  for (const std::uint32_t number : arrived) {
    if (!parameters[number].trainable) continue;
    reducer_.arrive(parameters[number].elements());
  }
}

}  // namespace

WrittenStep write_zero3_step(const StepInput& input) {
  return Zero3Writer(input).write();
}

}  // namespace takt
