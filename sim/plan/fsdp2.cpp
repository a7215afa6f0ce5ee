// FSDP2: fully_shard on every decoder layer and on the model (semantics S1 to S20).
//
// Up to four streams beside compute. An all-gather is a copy-in on its own stream, the collective, and a copy-out on
// compute; a reduce-scatter is a copy-in on compute and the collective. Both collectives use the shard communicator, so
// they queue in the order of issue (X2). The functions below are named after those of torch.distributed.fsdp and run in
// the order in which its hooks do:
//
//   forward   pre_forward(i):    all-gather(i); gather streams wait for copy-out(i-1); copy-out(i)       S5, S6
//             post_forward(i):   free i, unless it is kept                                               S8
//   backward  pre_backward(i):   all-gather(i) if not under way; copy-out(i); gather streams wait for it;
//                                all-gather(i-1)                                                         S9
//             post_backward(i):  free i; compute waits for reduce-scatter(i+1); copy-in; reduce-scatter(i);
//                                all-reduce of the shard over the replicas                               S10, S13
//   end       post_backward of the root and of layers whose inputs need no gradient; compute waits       S11, S14
//
// Memory: an all-gather's buffer lives from its copy-in to its copy-out, unsharded parameters from the copy-out to the
// free, a reduce-scatter's input from its copy-in to its end. Compute waits for reduce-scatter(i+1) before it fills the
// input of i, so one such input is alive at a time (S10). Sharded gradients live from the first reduce-scatter to the
// optimizer.
#include "plan/fsdp_unit.hpp"
#include "plan/step.hpp"

#include <optional>
#include <utility>

namespace takt {
namespace {

enum class Pass { forward, backward };
/// Whether gradients are reduced in this micro-step (set_requires_gradient_sync).
enum class GradientSync { reduce, keep };

/// Kernels that move a unit's parameters and gradients; equal layers share them.
struct UnitKernels {
  Kernel gather_copy_in, copy_out, reduce_copy_in, cast_kept;
  Kernel group_copy;  ///< of the part that a rank keeps between forward and backward for its reshard group (S8)
};

/// Kernels that add gradients of a block to those of earlier micro-steps.
struct AccumulateKernels {
  std::vector<Kernel> unsharded, sharded;
};

struct Unit {
  std::vector<std::size_t> blocks;
  std::uint32_t number = no_unit;
  const UnitSizes* sizes = nullptr;
  const UnitKernels* kernels = nullptr;
  bool reshard_after_forward = true;
  std::optional<Event> gathering;  // its all-gather is issued and not yet copied out
  bool unsharded = false;
  std::optional<Event> in_group;   // the reshard group holds its parameters, once this copy is done
  bool kept_gradients = false;     // unsharded, of earlier micro-steps
  bool reduced_gradients = false;  // sharded, of earlier micro-steps
  bool post_backward_due = false;
};

class Fsdp2Writer {
 public:
  explicit Fsdp2Writer(const StepInput& input);
  WrittenStep write() &&;

 private:
  void add_communication();
  void add_units();
  void forward();
  void backward(GradientSync sync);
  void pre_forward(Unit& unit);
  void pre_backward(Unit& unit, std::size_t layers_left);
  void backward_of(const std::vector<std::size_t>& blocks);
  void post_backward(Unit& unit, GradientSync sync);
  void keep_gradients(Unit& unit);
  void reduce_gradients(Unit& unit);
  void all_reduce_and_accumulate(Unit& unit, StreamId reduced_on);
  void final_callback(GradientSync sync);

  void unshard(Unit& unit);
  void wait_for_unshard(Unit& unit, Pass pass);
  void reshard(Unit& unit);
  void reshard_after_forward(Unit& unit);
  Bytes group_part(const Unit& unit) const {
    return stored_size(unit.sizes->gathered.count(), 1.0 / static_cast<double>(group_));
  }
  void gather_streams_wait(const Event& event);
  void at(Phase phase, const Unit& unit);
  /// `kernel` is one of kernels_, which stay where they are: units share it in the program.
  void shared_kernel(StreamId stream, const Kernel& kernel, std::string_view label) {
    builder_.kernels(stream, std::span(&kernel, 1), label);
  }
  const BlockKind& kind(std::size_t block) const { return input_.workload.block(block); }

  const StepInput& input_;
  const ParallelSettings& parallel_;
  FsdpModel model_;
  ProgramBuilder builder_;
  StreamId compute_, copy_in_, all_gather_;
  StreamId reduce_scatter_{}, all_reduce_{};
  CommSlot shard_{}, replicate_{}, reshard_{};
  std::int64_t group_;  // ranks of a reshard group; those of the shard group: there is none
  bool last_micro_step_ = true;
  std::vector<RankGroup> comm_groups_;
  BlockWriter blocks_;
  std::vector<UnitKernels> kernels_;           // of each block kind, then of the root
  std::vector<AccumulateKernels> accumulate_;  // of each block kind
  std::vector<Unit> layers_;
  Unit root_;
  std::optional<Event> last_copy_out_;        // of the forward, whose gather buffer is still held (S6)
  std::optional<Event> last_reduce_scatter_;  // the one that may be in flight (S10)
};

UnitKernels unit_kernels(const KernelPricer& pricer, const UnitSizes& sizes, std::int64_t group) {
  const Bytes shard = sizes.gathered_shard;
  const Bytes part = stored_size(sizes.gathered.count(), 1.0 / static_cast<double>(group));
  return {copy_kernel(pricer, "all-gather copy-in", sizes.cast_read + shard, sizes.cast_written + shard),
          copy_kernel(pricer, "all-gather copy-out", sizes.gathered, sizes.gathered),
          copy_kernel(pricer, "reduce-scatter copy-in", sizes.gradients, sizes.reduced),
          copy_kernel(pricer, "cast kept gradients", sizes.gradients, sizes.accumulated),
          copy_kernel(pricer, "reshard group copy", part, part)};
}

Fsdp2Writer::Fsdp2Writer(const StepInput& input)
    : input_(input),
      parallel_(input.scenario.parallel),
      model_(fsdp_model(input.workload, input.shard_ranks)),
      builder_(builder_options(input.scenario)),
      compute_(builder_.stream(StreamKind::compute, "compute")),
      copy_in_(builder_.stream(StreamKind::copy_in, "all-gather copy-in")),
      all_gather_(builder_.stream(StreamKind::all_gather, "all-gather")),
      group_(parallel_.fsdp2.reshard_group == 0 ? input.shard_ranks : parallel_.fsdp2.reshard_group),
      blocks_(builder_, input.workload, compute_) {
  add_communication();
  add_units();
}

/// A group of one rank communicates nothing (S20): its collectives are left out, the copies stay.
void Fsdp2Writer::add_communication() {
  reduce_scatter_ = all_reduce_ = compute_;
  if (input_.shard_ranks > 1) {
    reduce_scatter_ = all_reduce_ = builder_.stream(StreamKind::reduce_scatter, "reduce-scatter");
    shard_ = builder_.comm("shard");
    comm_groups_.push_back(RankGroup::shard);
  }
  if (input_.replicas > 1) {
    all_reduce_ = builder_.stream(StreamKind::all_reduce, "all-reduce");
    replicate_ = builder_.comm("replicate");
    comm_groups_.push_back(RankGroup::replicate);
  }
  if (group_ > 1 && group_ < input_.shard_ranks) {
    reshard_ = builder_.comm("reshard");
    comm_groups_.push_back(RankGroup::reshard);
  }
}

void Fsdp2Writer::add_units() {
  for (std::size_t k = 0; k < input_.workload.kinds.size(); ++k) {
    const BlockKind& kind = input_.workload.kinds[k];
    kernels_.push_back(unit_kernels(input_.pricer, model_.of_kind[k], group_));
    accumulate_.push_back(
        {accumulate_kernels(input_.pricer, kind), accumulate_kernels(input_.pricer, kind, input_.shard_ranks)});
  }
  kernels_.push_back(unit_kernels(input_.pricer, model_.root, group_));
  const bool keeps = parallel_.sharding == Sharding::grad_op || parallel_.sharding == Sharding::hybrid_grad_op ||
                     (group_ == 1 && input_.shard_ranks > 1);
  const bool reshard = parallel_.reshard_after_forward && !keeps;
  for (const std::size_t block : model_.layers) {
    const std::uint32_t k = input_.workload.blocks[block];
    Unit& layer = layers_.emplace_back();
    layer.blocks = {block};
    layer.number = blocks_.number(block);
    layer.sizes = &model_.of_kind[k];
    layer.kernels = &kernels_[k];
    layer.reshard_after_forward = reshard;
  }
  root_.blocks = model_.before;
  root_.blocks.insert(root_.blocks.end(), model_.after.begin(), model_.after.end());
  root_.sizes = &model_.root;
  root_.kernels = &kernels_.back();
  root_.reshard_after_forward = false;  // kept for the backward (S8)
}

WrittenStep Fsdp2Writer::write() && {
  const UnitSizes& total = model_.total;
  builder_.resident(MemoryCategory::weights, total.weight_shard);
  builder_.resident(MemoryCategory::optimizer, total.optimizer_shard);
  const std::int64_t micro_steps = input_.scenario.batch.gradient_accumulation;
  for (std::int64_t micro_step = 0; micro_step < micro_steps; ++micro_step) {
    last_micro_step_ = micro_step + 1 == micro_steps;
    forward();
    backward(parallel_.sync_each_micro_step || last_micro_step_ ? GradientSync::reduce : GradientSync::keep);
    write_loss_read_back(builder_, compute_, input_);
  }
  std::optional<NormReduction> norm;
  if (input_.shard_ranks > 1) norm = NormReduction{shard_};
  write_clipping(builder_, compute_, input_, total.trainable_shard_elements, norm);
  write_optimizer(builder_, compute_, input_, total.trainable_shard_elements, total.gradient_shard);
  return {std::move(builder_).finish(), comm_groups_,
          total.weight_shard + total.gradient_shard + total.optimizer_shard};
}

void Fsdp2Writer::forward() {
  gather_streams_wait(builder_.record(compute_));  // not before the optimizer, the last backward (S21)
  if (model_.has_root()) pre_forward(root_);
  for (const std::size_t block : model_.before) blocks_.forward(block);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    pre_forward(layers_[i]);
    const auto ahead = static_cast<std::size_t>(parallel_.prefetch.value_or(0));
    for (std::size_t j = i + 1; j < layers_.size() && j <= i + ahead; ++j) unshard(layers_[j]);  // S7
    blocks_.forward(layers_[i].blocks.front());
    if (layers_[i].reshard_after_forward) reshard_after_forward(layers_[i]);
  }
  for (const std::size_t block : model_.after) blocks_.forward(block);
  if (last_copy_out_) gather_streams_wait(*last_copy_out_);  // the last gather buffer is dropped
  last_copy_out_.reset();
}

void Fsdp2Writer::pre_forward(Unit& unit) {
  builder_.host_delay(input_.scenario.assumptions.fsdp2_hook);  // hooks before and after the forward (H1)
  unshard(unit);
  wait_for_unshard(unit, Pass::forward);
}

void Fsdp2Writer::backward(GradientSync sync) {
  if (model_.has_root()) {
    root_.post_backward_due = true;
    pre_backward(root_, layers_.size());
    backward_of(model_.after);
  }
  for (std::size_t i = layers_.size(); i-- > 0;) {
    Unit& layer = layers_[i];
    layer.post_backward_due = true;
    if (!kind(layer.blocks.front()).has_backward) continue;
    pre_backward(layer, i);
    backward_of(layer.blocks);
    if (kind(layer.blocks.front()).inputs_need_gradient) post_backward(layer, sync);
  }
  backward_of(model_.before);
  final_callback(sync);
}

/// `layers_left`: that many layers run their backward after this one.
void Fsdp2Writer::pre_backward(Unit& unit, std::size_t layers_left) {
  builder_.host_delay(input_.scenario.assumptions.fsdp2_hook);  // hooks before and after the backward (H1)
  unshard(unit);
  wait_for_unshard(unit, Pass::backward);
  const auto depth = static_cast<std::size_t>(parallel_.prefetch.value_or(1));  // one ahead by itself (S9)
  for (std::size_t ahead = 1; ahead <= depth && ahead <= layers_left; ++ahead) {
    Unit& target = layers_[layers_left - ahead];
    if (kind(target.blocks.front()).has_backward) unshard(target);
  }
}

void Fsdp2Writer::backward_of(const std::vector<std::size_t>& blocks) {
  for (std::size_t i = blocks.size(); i-- > 0;) {
    if (!kind(blocks[i]).has_backward) continue;
    builder_.allocate(compute_, MemoryCategory::gradients, model_.of_kind[input_.workload.blocks[blocks[i]]].gradients);
    blocks_.backward(blocks[i]);
  }
}

void Fsdp2Writer::post_backward(Unit& unit, GradientSync sync) {
  unit.post_backward_due = false;
  if (sync == GradientSync::reduce || parallel_.fsdp2.reshard_after_backward) reshard(unit);  // S15
  if (unit.sizes->trainable_shard_elements == 0) return;
  if (unit.kept_gradients || sync == GradientSync::keep) keep_gradients(unit);
  if (sync == GradientSync::reduce) reduce_gradients(unit);
}

/// Unsharded gradients stay, in the format in which they will be reduced (S15).
void Fsdp2Writer::keep_gradients(Unit& unit) {
  const UnitSizes& sizes = *unit.sizes;
  at(Phase::backward, unit);
  if (unit.kept_gradients) {
    for (const std::size_t block : unit.blocks) {
      builder_.kernels(compute_, accumulate_[input_.workload.blocks[block]].unsharded, "accumulate");
    }
    builder_.release(compute_, MemoryCategory::gradients, sizes.gradients);
  } else if (sizes.accumulated != sizes.gradients) {
    builder_.allocate(compute_, MemoryCategory::gradients, sizes.accumulated);
    shared_kernel(compute_, unit.kernels->cast_kept, "accumulate");
    builder_.release(compute_, MemoryCategory::gradients, sizes.gradients);
  }
  unit.kept_gradients = true;
}

void Fsdp2Writer::reduce_gradients(Unit& unit) {
  const UnitSizes& sizes = *unit.sizes;
  if (last_reduce_scatter_) builder_.wait(compute_, *last_reduce_scatter_);
  at(Phase::backward, unit);
  builder_.allocate(compute_, MemoryCategory::buffers, sizes.reduced);
  shared_kernel(compute_, unit.kernels->reduce_copy_in, "reduce-scatter copy-in");
  builder_.release(compute_, MemoryCategory::gradients, unit.kept_gradients ? sizes.accumulated : sizes.gradients);
  unit.kept_gradients = false;

  at(Phase::communication, unit);
  builder_.wait(reduce_scatter_, compute_);
  if (unit.reduced_gradients)
    builder_.allocate(reduce_scatter_, MemoryCategory::buffers, sizes.reduced_shard);
  else
    builder_.allocate(reduce_scatter_, MemoryCategory::gradients, sizes.gradient_shard);
  if (input_.shard_ranks > 1) {
    const CollectiveCall call{CollectiveKind::reduce_scatter, sizes.reduced};  // AVG: no division (S12)
    builder_.collective(reduce_scatter_, shard_, call, "reduce-scatter");
  }
  last_reduce_scatter_ = builder_.record(reduce_scatter_);
  builder_.release(reduce_scatter_, MemoryCategory::buffers, sizes.reduced);
  all_reduce_and_accumulate(unit, reduce_scatter_);
}

/// What follows a reduce-scatter: over the replicas (S13), then into the sharded gradients. If the replicas are reduced
/// in the last micro-step only, the sums so far are added first.
void Fsdp2Writer::all_reduce_and_accumulate(Unit& unit, StreamId reduced_on) {
  const UnitSizes& sizes = *unit.sizes;
  const bool partial = input_.replicas > 1 && !parallel_.fsdp2.all_reduce_each_micro_step;
  const auto accumulate = [&](StreamId stream) {
    if (!unit.reduced_gradients) return;
    for (const std::size_t block : unit.blocks) {
      builder_.kernels(stream, accumulate_[input_.workload.blocks[block]].sharded, "accumulate");
    }
    builder_.release(stream, MemoryCategory::buffers, sizes.reduced_shard);
  };
  if (partial) accumulate(reduced_on);
  if (input_.replicas > 1 && (!partial || last_micro_step_)) {
    builder_.wait(all_reduce_, reduced_on);
    builder_.collective(all_reduce_, replicate_, {CollectiveKind::all_reduce, sizes.reduced_shard}, "all-reduce");
  }
  if (!partial) accumulate(all_reduce_);
  unit.reduced_gradients = true;
}

/// After the whole backward: what had no post-backward yet, the root first (S11); then compute waits for all
/// reductions (S14).
void Fsdp2Writer::final_callback(GradientSync sync) {
  if (root_.post_backward_due) post_backward(root_, sync);
  for (Unit& layer : layers_) {
    if (layer.post_backward_due) post_backward(layer, sync);
  }
  last_reduce_scatter_.reset();
  builder_.wait(compute_, reduce_scatter_);
  builder_.wait(compute_, all_reduce_);
}

/// Issues the all-gather of a unit unless that has been done (S5).
void Fsdp2Writer::unshard(Unit& unit) {
  if (unit.unsharded || unit.gathering) return;
  const UnitSizes& sizes = *unit.sizes;
  if (parallel_.prefetch == 0) gather_streams_wait(builder_.record(compute_));  // nothing ahead of compute
  if (unit.in_group) gather_streams_wait(*unit.in_group);
  at(Phase::communication, unit);
  builder_.allocate(copy_in_, MemoryCategory::buffers, sizes.gathered);
  shared_kernel(copy_in_, unit.in_group ? unit.kernels->group_copy : unit.kernels->gather_copy_in,
                "all-gather copy-in");
  builder_.wait(all_gather_, copy_in_);
  if (input_.shard_ranks > 1) {
    builder_.collective(all_gather_, unit.in_group ? reshard_ : shard_, {CollectiveKind::all_gather, sizes.gathered},
                        "all-gather");
  }
  unit.gathering = builder_.record(all_gather_);
}

/// Copies the gathered parameters out on the compute stream. In the forward, the gather buffer of the unit before this
/// one is dropped only now, after the all-gather of this one was issued: gathers run up to two units ahead (S6).
void Fsdp2Writer::wait_for_unshard(Unit& unit, Pass pass) {
  if (!unit.gathering) return;
  const Bytes gathered = unit.sizes->gathered;
  if (pass == Pass::forward && last_copy_out_) gather_streams_wait(*last_copy_out_);
  builder_.wait(compute_, *unit.gathering);
  at(pass == Pass::forward ? Phase::forward : Phase::backward, unit);
  builder_.allocate(compute_, MemoryCategory::gathered, gathered);
  shared_kernel(compute_, unit.kernels->copy_out, "all-gather copy-out");
  const Event copied = builder_.record(compute_);
  builder_.release(compute_, MemoryCategory::buffers, gathered);
  if (unit.in_group) builder_.release(compute_, MemoryCategory::gathered, group_part(unit));
  unit.in_group.reset();
  if (pass == Pass::forward)
    last_copy_out_ = copied;
  else
    gather_streams_wait(copied);
  unit.gathering.reset();
  unit.unsharded = true;
}

void Fsdp2Writer::reshard(Unit& unit) {
  if (!unit.unsharded) return;
  builder_.release(compute_, MemoryCategory::gathered, unit.sizes->gathered);
  unit.unsharded = false;
}

/// Frees a layer, or leaves its parameters to the reshard group: each rank copies its part, and the layer's next gather
/// waits for that (S8).
void Fsdp2Writer::reshard_after_forward(Unit& unit) {
  if (group_ < input_.shard_ranks && unit.unsharded) {
    at(Phase::forward, unit);
    builder_.allocate(compute_, MemoryCategory::gathered, group_part(unit));
    shared_kernel(compute_, unit.kernels->group_copy, "reshard group copy");
    unit.in_group = builder_.record(compute_);
  }
  reshard(unit);
}

void Fsdp2Writer::gather_streams_wait(const Event& event) {
  builder_.wait(copy_in_, event);
  builder_.wait(all_gather_, event);
}

void Fsdp2Writer::at(Phase phase, const Unit& unit) {
  builder_.phase(phase);
  builder_.unit(unit.number);
}

}  // namespace

WrittenStep write_fsdp2_step(const StepInput& input) {
  return Fsdp2Writer(input).write();
}

}  // namespace takt
