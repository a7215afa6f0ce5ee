// FSDP1: FullyShardedDataParallel around every decoder layer and the model (semantics F1 to F50).
//
// The functions are named after those of torch/distributed/fsdp/_runtime_utils.py and run in the order of its hooks.
// A unit is gathered on the unshard stream, after a cast of its master shard on the pre-unshard stream; its gradient is
// cast, padded, divided, reduced, divided again and cast back on the post-backward stream, the parts behind an
// all-reduce over replicas on the all-reduce stream. All-gathers and reduce-scatters share a communicator (X2).
//
//   forward   pre_forward(i):   unshard(i); compute waits; [unshard(i + 1)]                      F10, F11, F14
//             post_forward(i):  free i, unless it is the root or kept                            F15, F16
//   backward  pre_backward(i):  unshard(i); compute waits; [PRE: unshard(i - 1)]                 F20, F22, F24
//             post_backward(i): free i; [POST: unshard(i - 1)]; reduce                           F23, F25
//   end       compute waits for all reductions; what is left is freed                            F29, F41
//
// "i - 1" is the unit that finished its forward just before i (F21): of nested units, the inner before the outer, the
// root last. Every unshard() asks the limiter: if two or more frees are queued, the CPU waits for the oldest (F12). The
// queue lives on over the iterations, so the program begins with iterations that only fill it (F13).
//
// Nested units run their forward hooks again when a checkpointed layer is recomputed: their own backward has not begun,
// so they are gathered and freed as in any forward, and gathered once more for their backward.
#include "plan/fsdp1_unit.hpp"
#include "plan/step.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace takt {
namespace {

/// Iterations until the limiter's queue and the recorded order repeat (F13, F14).
constexpr std::int64_t steady_iteration = 3;

enum class GradientSync { reduce, keep };

/// Kernels that handle a unit's parameters and gradients. Units of one kind share them.
struct FlatKernels {
  Kernel cast_shard, to_flat, accumulate_kept, cast_gradient, pad, divide_before, divide_after, cast_reduced,
      accumulate;
};

constexpr std::size_t no_target = static_cast<std::size_t>(-1);

struct Unit {
  std::uint32_t number = no_unit;
  const FlatSizes* sizes = nullptr;
  const FlatKernels* kernels = nullptr;
  bool is_root = false;
  bool needs_backward = true;  // its outputs require a gradient
  bool inputs_need_gradient = true;
  std::size_t before_in_post_forward = no_target, next_in_pre_forward = no_target;

  bool unsharded = false;
  bool prefetched = false;
  bool awaits_backward = false;  // its forward is done, its pre-backward is not
  std::optional<Event> gathered;
  bool kept_gradient = false;     // unsharded, of earlier micro-steps
  bool reduced_gradient = false;  // sharded, of earlier micro-steps
  bool left_to_the_end = false;
};

class Fsdp1Writer {
 public:
  explicit Fsdp1Writer(const StepInput& input);
  WrittenStep write() &&;

 private:
  void add_streams();
  void price_units();
  void add_units();
  void order_units();
  std::size_t add_unit(const FlatSizes& sizes, const FlatKernels& kernels, std::uint32_t number);

  void iteration(std::int64_t first_micro_step);
  void forward();
  void backward(GradientSync sync);
  void layer_forward(std::size_t layer);
  void layer_backward(std::size_t layer, GradientSync sync);
  void root_backward(const std::vector<std::size_t>& blocks);

  void pre_forward(Unit& unit);
  void post_forward(Unit& unit);
  void pre_backward(Unit& unit);
  void post_backward(Unit& unit, GradientSync sync);
  void reduce_gradient(Unit& unit);
  void reduce_over_replicas(Unit& unit);
  void final_callback(GradientSync sync);

  void unshard(Unit& unit);
  void gather_for(Unit& unit, Phase phase, std::string_view label);
  void prefetch(std::size_t target);
  void prefetch_for_backward(const Unit& unit);
  void limit();
  void reshard(Unit& unit, bool free);
  bool frees_in_backward(GradientSync sync) const { return sync == GradientSync::reduce || reshards_after_forward_; }

  void at(Phase phase, const Unit& unit);
  void hook(const Unit& unit, std::string_view label, Duration time = {});
  void shared_kernel(StreamId stream, const Kernel& kernel, std::string_view label) {
    builder_.kernels(stream, std::span(&kernel, 1), label);
  }
  std::span<const Kernel> part_of(const std::vector<Kernel>& kernels, const PassPart& part) const {
    return std::span(kernels).subspan(part.first, part.count);
  }
  const BlockKind& kind(std::size_t block) const { return input_.workload.block(block); }
  const FlatBlock& flat(std::size_t block) const { return flat_[input_.workload.blocks[block]]; }

  const StepInput& input_;
  const ParallelSettings& parallel_;
  const Fsdp1Settings& settings_;
  bool reshards_after_forward_;  // FULL_SHARD and HYBRID_SHARD (F15)
  ReductionFactors factors_;
  ProgramBuilder builder_;
  StreamId compute_, unshard_, pre_unshard_, post_backward_, all_reduce_{};
  CommSlot shard_{}, replicate_{};
  std::vector<RankGroup> comm_groups_;
  BlockWriter blocks_;
  std::vector<FlatBlock> flat_;                    // of each kind of block
  std::vector<std::vector<FlatKernels>> kernels_;  // of each kind: its own unit, then its adapters
  FlatSizes root_sizes_;
  FlatKernels root_kernels_;
  FlatSizes total_;
  std::vector<Unit> units_;               // in the order of pre-forward, the root first if there is one
  std::vector<std::size_t> layers_;       // blocks of the decoder layers
  std::vector<std::size_t> layer_units_;  // of each decoder layer; its adapters follow it
  std::vector<std::size_t> blocks_before_, blocks_after_;
  bool has_root_ = false;
  std::deque<Event> free_events_;  // the limiter's queue
  bool order_is_known_ = false;    // a backward has ended, so forward prefetch has its order (F14)
};

FlatKernels flat_kernels(const KernelPricer& pricer, const FlatSizes& sizes) {
  const auto copy = [&](const char* name, Bytes read, Bytes written) {
    return copy_kernel(pricer, name, read, written);
  };
  return {.cast_shard = copy("cast shard", sizes.cast_read, sizes.gathered_shard),
          .to_flat = copy("gradients to flat", sizes.gradient, sizes.gradient),
          .accumulate_kept = pricer.memory("accumulate gradient", sizes.gradient * 3),
          .cast_gradient = copy("cast gradient", sizes.gradient, sizes.reduced),
          .pad = copy("pad gradient", sizes.reduced, sizes.reduced),
          .divide_before = copy("divide gradient", sizes.reduced, sizes.reduced),
          .divide_after = copy("divide shard", sizes.reduced_shard, sizes.reduced_shard),
          .cast_reduced = copy("cast reduced shard", sizes.reduced_shard, sizes.gradient_shard),
          .accumulate = pricer.memory("accumulate gradient", sizes.gradient_shard * 3)};
}

Fsdp1Writer::Fsdp1Writer(const StepInput& input)
    : input_(input),
      parallel_(input.scenario.parallel),
      settings_(parallel_.fsdp1),
      reshards_after_forward_(parallel_.sharding == Sharding::full || parallel_.sharding == Sharding::hybrid),
      factors_(reduction_factors(input.shard_ranks * input.replicas)),
      builder_(builder_options(input.scenario)),
      compute_(builder_.stream(StreamKind::compute, "compute")),
      unshard_(builder_.stream(StreamKind::all_gather, "unshard")),
      pre_unshard_(builder_.stream(StreamKind::copy_in, "pre-unshard")),
      post_backward_(builder_.stream(StreamKind::reduce_scatter, "post-backward")),
      blocks_(builder_, input.workload, compute_) {
  add_streams();
  price_units();
  add_units();
  order_units();
}

/// Without replicas what follows a reduce-scatter stays on its stream (F5). Unsharded, gradients are all-reduced there;
/// alone, there is nothing to reduce and compute does the rest.
void Fsdp1Writer::add_streams() {
  if (input_.shard_ranks * input_.replicas == 1) post_backward_ = compute_;
  all_reduce_ = post_backward_;
  if (input_.shard_ranks > 1) {
    shard_ = builder_.comm("shard");
    comm_groups_.push_back(RankGroup::shard);
    if (input_.replicas > 1) all_reduce_ = builder_.stream(StreamKind::all_reduce, "all-reduce");
  }
  if (input_.replicas > 1) {
    replicate_ = builder_.comm("replicate");
    comm_groups_.push_back(RankGroup::replicate);
  }
}

void Fsdp1Writer::price_units() {
  for (const BlockKind& kind : input_.workload.kinds) {
    const FlatBlock& block = flat_.emplace_back(flat_block(input_.workload, kind, input_.shard_ranks, settings_));
    std::vector<FlatKernels>& kernels = kernels_.emplace_back();
    kernels.push_back(flat_kernels(input_.pricer, block.own));
    for (const FlatSizes& adapter : block.adapters) kernels.push_back(flat_kernels(input_.pricer, adapter));
  }
  root_sizes_ = flat_root(input_.workload, input_.shard_ranks, settings_);
  root_kernels_ = flat_kernels(input_.pricer, root_sizes_);
}

std::size_t Fsdp1Writer::add_unit(const FlatSizes& sizes, const FlatKernels& kernels, std::uint32_t number) {
  Unit& unit = units_.emplace_back();
  unit.number = number;
  unit.sizes = &sizes;
  unit.kernels = &kernels;
  unit.unsharded = input_.shard_ranks == 1;
  total_ += sizes;
  return units_.size() - 1;
}

void Fsdp1Writer::add_units() {
  const Workload& workload = input_.workload;
  has_root_ = root_sizes_.gathered > Bytes{};
  if (has_root_) {
    Unit& root = units_[add_unit(root_sizes_, root_kernels_, no_unit)];
    root.is_root = true;
    root.inputs_need_gradient = false;  // token ids
  }
  for (std::size_t block = 0; block < workload.blocks.size(); ++block) {
    if (!is_layer(kind(block))) {
      (layers_.empty() ? blocks_before_ : blocks_after_).push_back(block);
      continue;
    }
    const std::uint32_t k = workload.blocks[block];
    const std::uint32_t number = blocks_.number(block);
    layers_.push_back(block);
    layer_units_.push_back(add_unit(flat_[k].own, kernels_[k].front(), number));
    units_.back().needs_backward = kind(block).has_backward;
    units_.back().inputs_need_gradient = kind(block).inputs_need_gradient;
    for (std::size_t a = 0; a < flat_[k].adapters.size(); ++a) {
      add_unit(flat_[k].adapters[a], kernels_[k][a + 1], number);
    }
  }
}

/// Pre-forward: the root, then each layer before its adapters. Post-forward: adapters before their layer, root last.
void Fsdp1Writer::order_units() {
  for (std::size_t u = 0; u + 1 < units_.size(); ++u) units_[u].next_in_pre_forward = u + 1;
  std::size_t before = no_target;
  const auto ends = [&](std::size_t unit) {
    units_[unit].before_in_post_forward = before;
    before = unit;
  };
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::size_t adapters = flat(layers_[i]).adapters.size();
    for (std::size_t a = 0; a < adapters; ++a) ends(layer_units_[i] + 1 + a);
    ends(layer_units_[i]);
  }
  if (has_root_) ends(0);
}

WrittenStep Fsdp1Writer::write() && {
  builder_.resident(MemoryCategory::weights, total_.weight_shard);
  builder_.resident(MemoryCategory::optimizer, total_.optimizer_shard);
  const std::int64_t asked = input_.scenario.assumptions.iteration;
  const std::int64_t measured = asked == 0 ? steady_iteration : std::min(asked, steady_iteration);
  // Of an earlier iteration its last micro-step says all that is carried.
  for (std::int64_t i = 1; i < measured; ++i) iteration(input_.scenario.batch.gradient_accumulation - 1);
  builder_.begin_measured();
  iteration(0);
  return {std::move(builder_).finish(), comm_groups_,
          total_.weight_shard + total_.gradient_shard + total_.optimizer_shard};
}

void Fsdp1Writer::iteration(std::int64_t first_micro_step) {
  const std::int64_t micro_steps = input_.scenario.batch.gradient_accumulation;
  for (Unit& unit : units_) unit.reduced_gradient = false;
  for (std::int64_t micro_step = first_micro_step; micro_step < micro_steps; ++micro_step) {
    forward();
    const bool reduce = parallel_.sync_each_micro_step || micro_step + 1 == micro_steps;
    backward(reduce ? GradientSync::reduce : GradientSync::keep);
    write_loss_read_back(builder_, compute_, input_);
  }
  std::optional<NormReduction> norm;
  if (input_.shard_ranks > 1) norm = NormReduction{shard_};
  write_clipping(builder_, compute_, input_, total_.trainable_shard_elements, norm);
  write_optimizer(builder_, compute_, input_, total_.trainable_shard_elements, total_.gradient_shard);
}

// --- forward -----------------------------------------------------------------------------------------------------

void Fsdp1Writer::forward() {
  builder_.wait(unshard_, compute_);  // once a forward: not before the optimizer (F6)
  builder_.wait(pre_unshard_, compute_);
  if (has_root_) pre_forward(units_.front());
  for (const std::size_t block : blocks_before_) blocks_.forward(block);
  for (std::size_t i = 0; i < layers_.size(); ++i) layer_forward(i);
  for (const std::size_t block : blocks_after_) blocks_.forward(block);
  if (has_root_) post_forward(units_.front());
}

void Fsdp1Writer::layer_forward(std::size_t layer) {
  const std::size_t block = layers_[layer];
  Unit& own = units_[layer_units_[layer]];
  pre_forward(own);
  blocks_.begin_forward(block);
  for (const PassPart& part : flat(block).forward) {
    Unit* adapter = part.adapter ? &units_[layer_units_[layer] + 1 + *part.adapter] : nullptr;
    if (adapter != nullptr) pre_forward(*adapter);
    blocks_.forward_kernels(block, part_of(kind(block).forward, part));
    if (adapter != nullptr) post_forward(*adapter);
  }
  blocks_.end_forward(block);
  post_forward(own);
}

void Fsdp1Writer::pre_forward(Unit& unit) {
  gather_for(unit, Phase::forward, "pre-forward hook");
  if (settings_.forward_prefetch && order_is_known_) prefetch(unit.next_in_pre_forward);
}

void Fsdp1Writer::post_forward(Unit& unit) {
  reshard(unit, reshards_after_forward_ && !unit.is_root);
  unit.awaits_backward = unit.needs_backward;
}

// --- backward ----------------------------------------------------------------------------------------------------

void Fsdp1Writer::backward(GradientSync sync) {
  if (has_root_) pre_backward(units_.front());
  root_backward(blocks_after_);
  for (std::size_t i = layers_.size(); i-- > 0;) {
    if (kind(layers_[i]).has_backward) layer_backward(i, sync);
  }
  root_backward(blocks_before_);
  if (has_root_) {
    if (root_sizes_.trains)
      post_backward(units_.front(), sync);
    else
      units_.front().left_to_the_end = true;
  }
  final_callback(sync);
}

/// Gradients of the root's blocks stay apart until its last one is there (F25).
void Fsdp1Writer::root_backward(const std::vector<std::size_t>& blocks) {
  for (std::size_t i = blocks.size(); i-- > 0;) {
    const BlockKind& block = kind(blocks[i]);
    if (!block.has_backward) continue;
    builder_.allocate(compute_, MemoryCategory::gradients, flat(blocks[i]).own.produced);
    blocks_.backward(blocks[i]);
  }
}

void Fsdp1Writer::layer_backward(std::size_t layer, GradientSync sync) {
  const std::size_t block = layers_[layer];
  const FlatBlock& parts = flat(block);
  Unit& own = units_[layer_units_[layer]];
  const auto adapter_of = [&](const PassPart& part) {
    return part.adapter ? &units_[layer_units_[layer] + 1 + *part.adapter] : nullptr;
  };
  pre_backward(own);
  blocks_.begin_recompute(block);
  for (const PassPart& part : parts.recompute) {
    Unit* adapter = adapter_of(part);
    if (adapter != nullptr) gather_for(*adapter, Phase::recompute, "pre-forward hook");
    blocks_.recompute_kernels(block, part_of(kind(block).recompute, part));
    if (adapter != nullptr) post_forward(*adapter);
  }
  blocks_.end_recompute(block);
  builder_.allocate(compute_, MemoryCategory::gradients, own.sizes->produced);
  for (const PassPart& part : parts.backward) {
    Unit* adapter = adapter_of(part);
    if (adapter != nullptr) pre_backward(*adapter);
    if (adapter != nullptr) builder_.allocate(compute_, MemoryCategory::gradients, adapter->sizes->produced);
    blocks_.backward_kernels(block, part_of(kind(block).backward, part));
    if (adapter != nullptr) post_backward(*adapter, sync);
  }
  blocks_.end_backward(block);
  // A frozen unit is freed by a hook on its inputs, if they require a gradient (F40, F41).
  if (own.sizes->trains || own.inputs_need_gradient)
    post_backward(own, sync);
  else
    own.left_to_the_end = true;
}

void Fsdp1Writer::pre_backward(Unit& unit) {
  unit.awaits_backward = false;
  gather_for(unit, Phase::backward, "pre-backward hook");
  if (settings_.backward_prefetch == BackwardPrefetch::pre) prefetch_for_backward(unit);
}

void Fsdp1Writer::post_backward(Unit& unit, GradientSync sync) {
  const FlatSizes& sizes = *unit.sizes;
  at(Phase::backward, unit);
  if (sizes.trains) {  // the gradients of the views become the flat parameter's
    builder_.allocate(compute_, MemoryCategory::gradients, sizes.gradient);
    shared_kernel(compute_, unit.kernels->to_flat, "gradients to flat");
    builder_.release(compute_, MemoryCategory::gradients, sizes.produced);
    if (unit.kept_gradient) {
      shared_kernel(compute_, unit.kernels->accumulate_kept, "accumulate");
      builder_.release(compute_, MemoryCategory::gradients, sizes.gradient);
    }
    unit.kept_gradient = true;
  }
  hook(unit, "post-backward hook");
  reshard(unit, frees_in_backward(sync));
  if (settings_.backward_prefetch == BackwardPrefetch::post) prefetch_for_backward(unit);
  if (sizes.trains && sync == GradientSync::reduce) reduce_gradient(unit);
}

/// On the post-backward stream: cast, pad, divide, reduce-scatter (F25, F27); its input lives until all is done.
void Fsdp1Writer::reduce_gradient(Unit& unit) {
  const FlatSizes& sizes = *unit.sizes;
  const FlatKernels& kernels = *unit.kernels;
  at(Phase::communication, unit);
  builder_.wait(post_backward_, compute_);
  Bytes temporary{};
  if (sizes.casts_gradient) {
    builder_.allocate(post_backward_, MemoryCategory::buffers, sizes.reduced);
    shared_kernel(post_backward_, kernels.cast_gradient, "cast gradient");
    temporary += sizes.reduced;
  }
  if (sizes.pads_gradient) {
    builder_.allocate(post_backward_, MemoryCategory::buffers, sizes.reduced);
    shared_kernel(post_backward_, kernels.pad, "pad gradient");
    temporary += sizes.reduced;
  }
  if (factors_.before > 1.0) shared_kernel(post_backward_, kernels.divide_before, "divide");
  // The result is the sharded gradient, unless it is cast to it or added to an earlier one.
  const bool in_place = !sizes.casts_reduced && !unit.reduced_gradient;
  if (in_place)
    builder_.allocate(post_backward_, MemoryCategory::gradients, sizes.gradient_shard);
  else
    builder_.allocate(post_backward_, MemoryCategory::buffers, sizes.reduced_shard);
  if (input_.shard_ranks > 1) {
    builder_.collective(post_backward_, shard_, {CollectiveKind::reduce_scatter, sizes.reduced}, "reduce-scatter");
    builder_.release(post_backward_, MemoryCategory::gradients, sizes.gradient);
    builder_.release(post_backward_, MemoryCategory::buffers, temporary);
    reduce_over_replicas(unit);
    return;
  }
  reduce_over_replicas(unit);
  builder_.release(all_reduce_, MemoryCategory::gradients, sizes.gradient);
  builder_.release(all_reduce_, MemoryCategory::buffers, temporary);
}

/// The shard over the replicas, then divide, cast, and into the sharded gradient (F28).
void Fsdp1Writer::reduce_over_replicas(Unit& unit) {
  const FlatSizes& sizes = *unit.sizes;
  const FlatKernels& kernels = *unit.kernels;
  if (input_.replicas > 1) {
    builder_.wait(all_reduce_, post_backward_);
    builder_.collective(all_reduce_, replicate_, {CollectiveKind::all_reduce, sizes.reduced_shard}, "all-reduce");
  }
  if (factors_.after > 1.0) shared_kernel(all_reduce_, kernels.divide_after, "divide");
  if (sizes.casts_reduced) {
    if (!unit.reduced_gradient) builder_.allocate(all_reduce_, MemoryCategory::gradients, sizes.gradient_shard);
    shared_kernel(all_reduce_, kernels.cast_reduced, "cast reduced shard");
  }
  if (unit.reduced_gradient) shared_kernel(all_reduce_, kernels.accumulate, "accumulate");
  if (sizes.casts_reduced || unit.reduced_gradient) {
    builder_.release(all_reduce_, MemoryCategory::buffers, sizes.reduced_shard);
  }
  unit.reduced_gradient = true;
  unit.kept_gradient = false;
}

void Fsdp1Writer::final_callback(GradientSync sync) {
  if (sync == GradientSync::reduce) {
    builder_.wait(compute_, post_backward_);
    builder_.wait(compute_, all_reduce_);
  }
  if (has_root_) hook(units_.front(), "final callback");
  for (Unit& unit : units_) {
    if (!std::exchange(unit.left_to_the_end, false)) continue;
    reshard(unit, frees_in_backward(sync));
  }
  order_is_known_ = true;
}

// --- parameters --------------------------------------------------------------------------------------------------

/// Asks the limiter even if there is nothing to gather (F12).
void Fsdp1Writer::unshard(Unit& unit) {
  if (input_.shard_ranks == 1) return;  // NO_SHARD
  const FlatSizes& sizes = *unit.sizes;
  at(Phase::communication, unit);
  const bool casts = !unit.unsharded && sizes.cast_read > Bytes{};
  if (casts) {
    builder_.allocate(pre_unshard_, MemoryCategory::temporary, sizes.gathered_shard);
    shared_kernel(pre_unshard_, unit.kernels->cast_shard, "cast shard");
    builder_.wait(unshard_, pre_unshard_);
  }
  limit();
  at(Phase::communication, unit);
  if (unit.unsharded) return hook(unit, "no all-gather");
  builder_.allocate(unshard_, MemoryCategory::gathered, sizes.gathered);
  unit.gathered = builder_.collective(unshard_, shard_, {CollectiveKind::all_gather, sizes.gathered}, "all-gather");
  if (casts) builder_.release(unshard_, MemoryCategory::temporary, sizes.gathered_shard);
  unit.unsharded = true;
}

void Fsdp1Writer::limit() {
  constexpr std::size_t most_queued = 2;
  if (!settings_.limit_all_gathers || free_events_.size() < most_queued) return;
  builder_.host_wait(free_events_.front());
  free_events_.pop_front();
}

void Fsdp1Writer::gather_for(Unit& unit, Phase phase, std::string_view label) {
  if (!unit.prefetched) unshard(unit);
  at(phase, unit);
  hook(unit, label, input_.scenario.assumptions.fsdp1_hook);  // those after it included (H1)
  if (unit.gathered) builder_.wait(compute_, *unit.gathered);
  unit.gathered.reset();
}

void Fsdp1Writer::prefetch(std::size_t target) {
  if (target == no_target || units_[target].prefetched) return;
  unshard(units_[target]);
  units_[target].prefetched = true;
}

void Fsdp1Writer::prefetch_for_backward(const Unit& unit) {
  const std::size_t target = unit.before_in_post_forward;
  if (target != no_target && units_[target].awaits_backward) prefetch(target);
}

/// `free`: the unsharded parameter is given up; the limiter hears of it.
void Fsdp1Writer::reshard(Unit& unit, bool free) {
  unit.prefetched = false;
  if (!free || input_.shard_ranks == 1) return;
  if (unit.unsharded) builder_.release(compute_, MemoryCategory::gathered, unit.sizes->gathered);
  unit.unsharded = false;
  if (settings_.limit_all_gathers) free_events_.push_back(builder_.record(compute_));
}

void Fsdp1Writer::at(Phase phase, const Unit& unit) {
  builder_.phase(phase);
  builder_.unit(unit.number);
}

/// A point that the CPU passes, in `time`.
void Fsdp1Writer::hook(const Unit& unit, std::string_view label, Duration time) {
  builder_.unit(unit.number);
  builder_.host_work(time, label);
}

}  // namespace

WrittenStep write_fsdp1_step(const StepInput& input) {
  return Fsdp1Writer(input).write();
}

}  // namespace takt
