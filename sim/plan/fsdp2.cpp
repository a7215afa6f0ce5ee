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
// free, a reduce-scatter's input from its copy-in to its end. What becomes of gradients is in fsdp2_gradients.
#include "plan/cpu_optimizer.hpp"
#include "plan/fsdp2_gradients.hpp"
#include "plan/fsdp2_model.hpp"
#include "plan/step.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace takt {
namespace {

enum class Pass { forward, backward };
/// Whether gradients are reduced in this micro-step (set_requires_gradient_sync).
enum class GradientSync { reduce, keep };

class Fsdp2Writer {
 public:
  explicit Fsdp2Writer(const StepInput& input);
  WrittenStep write() &&;

 private:
  void forward();
  void backward(GradientSync sync);
  void pre_forward(Fsdp2Unit& unit);
  void pre_backward(Fsdp2Unit& unit, std::size_t units_left);
  void backward_of(const std::vector<std::size_t>& blocks);
  void post_backward(Fsdp2Unit& unit, GradientSync sync);
  void final_callback(GradientSync sync);

  void unshard(Fsdp2Unit& unit);
  void wait_for_unshard(Fsdp2Unit& unit, Pass pass);
  void drop_mistaken_gather(Fsdp2Unit& unit);
  void leave_group(Fsdp2Unit& unit);
  void reshard(Fsdp2Unit& unit);
  void reshard_after_forward(Fsdp2Unit& unit);
  Bytes group_part(const Fsdp2Unit& unit) const {
    return stored_size(unit.sizes->gathered.count(), 1.0 / static_cast<double>(group_));
  }
  void gather_streams_wait(const Event& event);
  void at(Phase phase, const Fsdp2Unit& unit);
  /// `kernel` is one of the model's, which stay where they are: units share it in the program.
  void shared_kernel(StreamId stream, const Kernel& kernel, std::string_view label) {
    builder_.kernels(stream, std::span(&kernel, 1), label);
  }
  const BlockKind& kind(std::size_t block) const { return input_.workload.block(block); }

  const StepInput& input_;
  const ParallelSettings& parallel_;
  std::int64_t group_;  // ranks of a reshard group; those of the shard group: there is none
  ProgramBuilder builder_;
  Fsdp2Streams streams_;
  Fsdp2Model model_;
  BlockWriter blocks_;
  Fsdp2Gradients gradients_;
  bool last_micro_step_ = true;
  std::optional<Event> last_copy_out_;  // of the forward, whose gather buffer is still held (S6)
};

Fsdp2Writer::Fsdp2Writer(const StepInput& input)
    : input_(input),
      parallel_(input.scenario.parallel),
      group_(parallel_.fsdp2.reshard_group == 0 ? input.shard_ranks : parallel_.fsdp2.reshard_group),
      builder_(builder_options(input.scenario)),
      streams_(add_fsdp2_streams(builder_, input, group_)),
      model_(input, group_),
      blocks_(builder_, input.workload, streams_.compute),
      gradients_(builder_, input, streams_, model_) {}

WrittenStep Fsdp2Writer::write() && {
  const UnitSizes& total = model_.sizes.total;
  const bool offloads = fsdp_offloads(input_);
  if (!offloads) {
    builder_.resident(MemoryCategory::weights, total.weight_shard);
    builder_.resident(MemoryCategory::optimizer, total.optimizer_shard);
  }
  const std::int64_t micro_steps = input_.scenario.batch.gradient_accumulation;
  for (std::int64_t micro_step = 0; micro_step < micro_steps; ++micro_step) {
    last_micro_step_ = micro_step + 1 == micro_steps;
    forward();
    backward(parallel_.sync_each_micro_step || last_micro_step_ ? GradientSync::reduce : GradientSync::keep);
    write_loss_read_back(builder_, streams_.compute, input_);
  }
  if (offloads) {
    write_fsdp_cpu_step(builder_, streams_.compute, input_, total.trainable_shard_elements);
    return {std::move(builder_).finish(), streams_.comm_groups, Bytes{}};
  }
  std::optional<NormReduction> norm;
  if (input_.shard_ranks > 1) norm = NormReduction{streams_.shard};
  write_clipping(builder_, streams_.compute, input_, total.trainable_shard_elements, norm);
  write_optimizer(builder_, streams_.compute, input_, total.trainable_shard_elements, total.gradient_shard);
  return {std::move(builder_).finish(), streams_.comm_groups,
          total.weight_shard + total.gradient_shard + total.optimizer_shard};
}

void Fsdp2Writer::forward() {
  gather_streams_wait(builder_.record(streams_.compute));  // not before the optimizer, the last backward (S21)
  if (model_.sizes.has_root()) pre_forward(model_.root);
  for (const std::size_t block : model_.sizes.before) blocks_.forward(block);
  for (std::size_t i = 0; i < model_.units.size(); ++i) {
    Fsdp2Unit& unit = model_.units[i];
    pre_forward(unit);
    const auto ahead = static_cast<std::size_t>(parallel_.prefetch.value_or(0));
    for (std::size_t j = i + 1; j < model_.units.size() && j <= i + ahead; ++j) unshard(model_.units[j]);  // S7
    for (const std::size_t block : unit.blocks) blocks_.forward(block);
    if (unit.reshard_after_forward) reshard_after_forward(unit);
  }
  for (const std::size_t block : model_.sizes.after) blocks_.forward(block);
  if (last_copy_out_) gather_streams_wait(*last_copy_out_);  // the last gather buffer is dropped
  last_copy_out_.reset();
}

void Fsdp2Writer::pre_forward(Fsdp2Unit& unit) {
  builder_.host_delay(input_.scenario.assumptions.fsdp2_hook);  // hooks before and after the forward (H1)
  unshard(unit);
  wait_for_unshard(unit, Pass::forward);
}

void Fsdp2Writer::backward(GradientSync sync) {
  if (model_.sizes.has_root()) {
    model_.root.post_backward_due = true;
    pre_backward(model_.root, model_.units.size());
    backward_of(model_.sizes.after);
  }
  for (std::size_t i = model_.units.size(); i-- > 0;) {
    Fsdp2Unit& unit = model_.units[i];
    unit.post_backward_due = true;
    if (!kind(unit.blocks.front()).has_backward) continue;
    pre_backward(unit, i);
    backward_of(unit.blocks);
    if (kind(unit.blocks.front()).inputs_need_gradient) post_backward(unit, sync);
  }
  backward_of(model_.sizes.before);
  final_callback(sync);
}

/// `units_left`: that many run their backward after this one. The group that ended its forward just before is gathered
/// ahead by itself (S9), whether its backward will come and need it or not, unless it was told not to (S16).
void Fsdp2Writer::pre_backward(Fsdp2Unit& unit, std::size_t units_left) {
  builder_.host_delay(input_.scenario.assumptions.fsdp2_hook);  // hooks before and after the backward (H1)
  if (unit.unshard_in_backward) unshard(unit);
  wait_for_unshard(unit, Pass::backward);
  const auto depth = static_cast<std::size_t>(parallel_.prefetch.value_or(1));
  for (std::size_t ahead = 1; ahead <= depth && ahead <= units_left; ++ahead) {
    Fsdp2Unit& target = model_.units[units_left - ahead];
    if (target.unshard_in_backward) unshard(target);
  }
}

void Fsdp2Writer::backward_of(const std::vector<std::size_t>& blocks) {
  for (std::size_t i = blocks.size(); i-- > 0;) {
    if (!kind(blocks[i]).has_backward) continue;
    builder_.allocate(streams_.compute, MemoryCategory::gradients, model_.sizes_of(blocks[i]).gradients);
    blocks_.backward(blocks[i]);
  }
}

void Fsdp2Writer::post_backward(Fsdp2Unit& unit, GradientSync sync) {
  unit.post_backward_due = false;
  if (sync == GradientSync::reduce || parallel_.fsdp2.reshard_after_backward) {  // S15
    reshard(unit);
    leave_group(unit);  // of a unit whose backward was not gathered for
  }
  if (unit.sizes->trainable_shard_elements == 0) return;
  if (unit.kept_gradients || sync == GradientSync::keep) gradients_.keep(unit);
  if (sync == GradientSync::reduce) gradients_.reduce(unit, last_micro_step_);
}

/// After the whole backward: what had no post-backward yet, the root first (S11). Then compute waits for all reductions
/// (S14) and gathers that nothing used, unless this was said not to be the last backward (S15).
void Fsdp2Writer::final_callback(GradientSync sync) {
  if (model_.root.post_backward_due) post_backward(model_.root, sync);
  for (Fsdp2Unit& unit : model_.units) {
    if (unit.post_backward_due) post_backward(unit, sync);
  }
  if (!last_micro_step_ && !parallel_.fsdp2.wait_each_micro_step) return;
  gradients_.finish();
  for (Fsdp2Unit& unit : model_.units) drop_mistaken_gather(unit);
}

/// Issues the all-gather of a unit unless that has been done (S5).
void Fsdp2Writer::unshard(Fsdp2Unit& unit) {
  if (unit.unsharded || unit.gathering) return;
  const UnitSizes& sizes = *unit.sizes;
  if (parallel_.prefetch == 0) gather_streams_wait(builder_.record(streams_.compute));  // nothing ahead of compute
  if (unit.in_group) gather_streams_wait(*unit.in_group);
  at(Phase::communication, unit);
  builder_.allocate(streams_.copy_in, MemoryCategory::buffers, sizes.gathered);
  const bool offloads = fsdp_offloads(input_) && !unit.in_group;
  if (offloads) {  // each pinned shard in master format, then cast (S18)
    builder_.allocate(streams_.copy_in, MemoryCategory::temporary, sizes.weight_shard);
    builder_.copy(streams_.copy_in, host_to_device_path, sizes.weight_shard, "parameters to card");
  }
  shared_kernel(streams_.copy_in, unit.in_group ? unit.kernels->group_copy : unit.kernels->gather_copy_in,
                "all-gather copy-in");
  if (offloads) builder_.release(streams_.copy_in, MemoryCategory::temporary, sizes.weight_shard);
  builder_.wait(streams_.all_gather, streams_.copy_in);
  if (input_.shard_ranks > 1) {
    builder_.collective(streams_.all_gather, unit.in_group ? streams_.reshard : streams_.shard,
                        {CollectiveKind::all_gather, sizes.gathered}, "all-gather");
  }
  unit.gathering = builder_.record(streams_.all_gather);
}

/// Copies the gathered parameters out on the compute stream. In the forward, the gather buffer of the unit before this
/// one is dropped only now, after the all-gather of this one was issued: gathers run up to two units ahead (S6).
void Fsdp2Writer::wait_for_unshard(Fsdp2Unit& unit, Pass pass) {
  if (!unit.gathering) return;
  const Bytes gathered = unit.sizes->gathered;
  if (pass == Pass::forward && last_copy_out_) gather_streams_wait(*last_copy_out_);
  builder_.wait(streams_.compute, *unit.gathering);
  at(pass == Pass::forward ? Phase::forward : Phase::backward, unit);
  builder_.allocate(streams_.compute, MemoryCategory::gathered, gathered);
  shared_kernel(streams_.compute, unit.kernels->copy_out, "all-gather copy-out");
  const Event copied = builder_.record(streams_.compute);
  builder_.release(streams_.compute, MemoryCategory::buffers, gathered);
  leave_group(unit);
  if (pass == Pass::forward)
    last_copy_out_ = copied;
  else
    gather_streams_wait(copied);
  unit.gathering.reset();
  unit.unsharded = true;
}

/// A gather that was prefetched for a backward that did not come: compute waits for it and its buffer goes.
void Fsdp2Writer::drop_mistaken_gather(Fsdp2Unit& unit) {
  if (!unit.gathering) return;
  builder_.wait(streams_.compute, *unit.gathering);
  const StreamId last = input_.shard_ranks > 1 ? streams_.all_gather : streams_.copy_in;
  builder_.release(last, MemoryCategory::buffers, unit.sizes->gathered);
  unit.gathering.reset();
}

/// Gives up the part that a rank keeps for its reshard group.
void Fsdp2Writer::leave_group(Fsdp2Unit& unit) {
  if (unit.in_group) builder_.release(streams_.compute, MemoryCategory::gathered, group_part(unit));
  unit.in_group.reset();
}

void Fsdp2Writer::reshard(Fsdp2Unit& unit) {
  if (!unit.unsharded) return;
  builder_.release(streams_.compute, MemoryCategory::gathered, unit.sizes->gathered);
  unit.unsharded = false;
}

/// Frees a layer, or leaves its parameters to the reshard group: each rank copies its part, and the layer's next gather
/// waits for that (S8).
void Fsdp2Writer::reshard_after_forward(Fsdp2Unit& unit) {
  if (group_ < input_.shard_ranks && unit.unsharded) {
    at(Phase::forward, unit);
    builder_.allocate(streams_.compute, MemoryCategory::gathered, group_part(unit));
    shared_kernel(streams_.compute, unit.kernels->group_copy, "reshard group copy");
    unit.in_group = builder_.record(streams_.compute);
  }
  reshard(unit);
}

void Fsdp2Writer::gather_streams_wait(const Event& event) {
  builder_.wait(streams_.copy_in, event);
  builder_.wait(streams_.all_gather, event);
}

void Fsdp2Writer::at(Phase phase, const Fsdp2Unit& unit) {
  builder_.phase(phase);
  builder_.unit(unit.number);
}

}  // namespace

WrittenStep write_fsdp2_step(const StepInput& input) {
  return Fsdp2Writer(input).write();
}

}  // namespace takt
