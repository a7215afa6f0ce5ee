// FSDP1: FullyShardedDataParallel around every decoder layer and the model (semantics F1 to F50).
//
// The functions are named after those of torch/distributed/fsdp/_runtime_utils.py and run in the order of its hooks.
// All-gathers and reduce-scatters share a communicator (X2).
//
//   forward   pre_forward(i):   unshard(i); compute waits; [unshard(i + 1)]                      F10, F11, F14
//             post_forward(i):  free i, unless it is the root or kept                            F15, F16
//   backward  pre_backward(i):  unshard(i); compute waits; [PRE: unshard(i - 1)]                 F20, F22, F24
//             post_backward(i): free i; [POST: unshard(i - 1)]; reduce                           F23, F25
//   end       compute waits for all reductions; what is left is freed                            F29, F41
//
// "i - 1" is the unit that finished its forward just before i (F21): of nested units, the inner before the outer, the
// root last. The limiter's queue lives on over the iterations, so the program begins with iterations that only fill it
// (F13). What gathers and frees parameters is in fsdp1_parameters, what becomes of gradients in fsdp1_gradients.
//
// Nested units run their forward hooks again when a checkpointed layer is recomputed: their own backward has not begun,
// so they are gathered and freed as in any forward, and gathered once more for their backward.
#include "plan/cpu_optimizer.hpp"
#include "plan/fsdp1_gradients.hpp"
#include "plan/fsdp1_model.hpp"
#include "plan/fsdp1_parameters.hpp"
#include "plan/step.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace takt {
namespace {

/// Iterations until the limiter's queue and the recorded order repeat (F13, F14).
constexpr std::int64_t steady_iteration = 3;

enum class GradientSync { reduce, keep };

class Fsdp1Writer {
 public:
  explicit Fsdp1Writer(const StepInput& input);
  WrittenStep write() &&;

 private:
  void iteration(std::int64_t first_micro_step);
  void forward();
  void backward(GradientSync sync);
  void layer_forward(std::size_t layer);
  void layer_recompute(std::size_t layer);
  void layer_backward(std::size_t layer, GradientSync sync);
  void root_backward(const std::vector<std::size_t>& blocks);

  void pre_forward(Fsdp1Unit& unit);
  void post_forward(Fsdp1Unit& unit);
  void pre_backward(Fsdp1Unit& unit);
  void post_backward(Fsdp1Unit& unit, GradientSync sync);
  void final_callback(GradientSync sync);
  bool frees_in_backward(GradientSync sync) const { return sync == GradientSync::reduce || reshards_after_forward_; }

  std::span<const Kernel> part_of(const std::vector<Kernel>& kernels, const PassPart& part) const {
    return std::span(kernels).subspan(part.first, part.count);
  }

  const StepInput& input_;
  const ParallelSettings& parallel_;
  bool reshards_after_forward_;  // FULL_SHARD and HYBRID_SHARD (F15)
  ProgramBuilder builder_;
  Fsdp1Streams streams_;
  Fsdp1Model model_;
  BlockWriter blocks_;
  Fsdp1Parameters parameters_;
  Fsdp1Gradients gradients_;
  Bytes held_by_hooks_{};        // inputs of frozen units, and their gradients
  bool order_is_known_ = false;  // a backward has ended, so forward prefetch has its order (F14)
};

Fsdp1Writer::Fsdp1Writer(const StepInput& input)
    : input_(input),
      parallel_(input.scenario.parallel),
      reshards_after_forward_(parallel_.sharding == Sharding::full || parallel_.sharding == Sharding::hybrid),
      builder_(builder_options(input.scenario)),
      streams_(add_fsdp1_streams(builder_, input)),
      model_(input),
      blocks_(builder_, input.workload, streams_.compute),
      parameters_(builder_, input, streams_, model_),
      gradients_(builder_, input, streams_) {}

WrittenStep Fsdp1Writer::write() && {
  const FlatSizes& total = model_.total;
  if (!fsdp_offloads(input_)) {
    builder_.resident(MemoryCategory::weights, total.weight_shard);
    builder_.resident(MemoryCategory::optimizer, total.optimizer_shard);
  }
  const std::int64_t asked = input_.scenario.assumptions.iteration;
  const std::int64_t measured = asked == 0 ? steady_iteration : std::min(asked, steady_iteration);
  // Of an earlier iteration its last micro-step says all that is carried.
  for (std::int64_t i = 1; i < measured; ++i) iteration(input_.scenario.batch.gradient_accumulation - 1);
  builder_.begin_measured();
  iteration(0);
  const Bytes states = total.weight_shard + total.gradient_shard + total.optimizer_shard;
  return {std::move(builder_).finish(), streams_.comm_groups, fsdp_offloads(input_) ? Bytes{} : states};
}

void Fsdp1Writer::iteration(std::int64_t first_micro_step) {
  const std::int64_t micro_steps = input_.scenario.batch.gradient_accumulation;
  for (Fsdp1Unit& unit : model_.units) unit.reduced_gradient = false;
  for (std::int64_t micro_step = first_micro_step; micro_step < micro_steps; ++micro_step) {
    forward();
    const bool reduce = parallel_.sync_each_micro_step || micro_step + 1 == micro_steps;
    backward(reduce ? GradientSync::reduce : GradientSync::keep);
    write_loss_read_back(builder_, streams_.compute, input_);
  }
  const FlatSizes& total = model_.total;
  if (fsdp_offloads(input_)) {
    return write_fsdp_cpu_step(builder_, streams_.compute, input_, total.trainable_shard_elements);
  }
  std::optional<NormReduction> norm;
  if (input_.shard_ranks > 1) norm = NormReduction{streams_.shard};
  write_clipping(builder_, streams_.compute, input_, total.trainable_shard_elements, norm);
  write_optimizer(builder_, streams_.compute, input_, total.trainable_shard_elements, total.gradient_shard);
}

// --- forward -----------------------------------------------------------------------------------------------------

void Fsdp1Writer::forward() {
  builder_.wait(streams_.unshard, streams_.compute);  // once a forward: not before the optimizer (F6)
  builder_.wait(streams_.pre_unshard, streams_.compute);
  if (model_.has_root) pre_forward(model_.root_unit());
  for (const std::size_t block : model_.before) blocks_.forward(block);
  for (std::size_t i = 0; i < model_.layers.size(); ++i) layer_forward(i);
  for (const std::size_t block : model_.after) blocks_.forward(block);
  if (model_.has_root) post_forward(model_.root_unit());
}

void Fsdp1Writer::layer_forward(std::size_t layer) {
  const std::size_t block = model_.layers[layer];
  Fsdp1Unit& own = model_.unit_of(layer);
  pre_forward(own);
  blocks_.begin_forward(block);
  for (const PassPart& part : model_.flat(block).forward) {
    Fsdp1Unit* adapter = model_.adapter_of(layer, part);
    if (adapter != nullptr) pre_forward(*adapter);
    blocks_.forward_kernels(block, part_of(model_.kind(block).forward, part));
    if (adapter != nullptr) post_forward(*adapter);
  }
  blocks_.end_forward(block);
  post_forward(own);
}

void Fsdp1Writer::pre_forward(Fsdp1Unit& unit) {
  parameters_.gather_for(unit, Phase::forward, "pre-forward hook");
  if (parallel_.fsdp1.forward_prefetch && order_is_known_) parameters_.prefetch(unit.next_in_pre_forward);
}

void Fsdp1Writer::post_forward(Fsdp1Unit& unit) {
  parameters_.reshard(unit, reshards_after_forward_ && !unit.is_root);
  unit.awaits_backward = unit.needs_backward;
}

// --- backward ----------------------------------------------------------------------------------------------------

void Fsdp1Writer::backward(GradientSync sync) {
  if (model_.has_root) pre_backward(model_.root_unit());
  root_backward(model_.after);
  for (std::size_t i = model_.layers.size(); i-- > 0;) {
    if (model_.kind(model_.layers[i]).has_backward) layer_backward(i, sync);
  }
  root_backward(model_.before);
  if (model_.has_root) {
    if (model_.root.trains)
      post_backward(model_.root_unit(), sync);
    else
      model_.root_unit().left_to_the_end = true;
  }
  final_callback(sync);
}

/// Gradients of the root's blocks stay apart until its last one is there (F25).
void Fsdp1Writer::root_backward(const std::vector<std::size_t>& blocks) {
  for (std::size_t i = blocks.size(); i-- > 0;) {
    if (!model_.kind(blocks[i]).has_backward) continue;
    builder_.allocate(streams_.compute, MemoryCategory::gradients, model_.flat(blocks[i]).own.produced);
    blocks_.backward(blocks[i]);
  }
}

void Fsdp1Writer::layer_recompute(std::size_t layer) {
  const std::size_t block = model_.layers[layer];
  blocks_.begin_recompute(block);
  for (const PassPart& part : model_.flat(block).recompute) {
    Fsdp1Unit* adapter = model_.adapter_of(layer, part);
    if (adapter != nullptr) parameters_.gather_for(*adapter, Phase::recompute, "pre-forward hook");
    blocks_.recompute_kernels(block, part_of(model_.kind(block).recompute, part));
    if (adapter != nullptr) post_forward(*adapter);
  }
  blocks_.end_recompute(block);
}

void Fsdp1Writer::layer_backward(std::size_t layer, GradientSync sync) {
  const std::size_t block = model_.layers[layer];
  Fsdp1Unit& own = model_.unit_of(layer);
  pre_backward(own);
  layer_recompute(layer);
  builder_.allocate(streams_.compute, MemoryCategory::gradients, own.sizes->produced);
  for (const PassPart& part : model_.flat(block).backward) {
    Fsdp1Unit* adapter = model_.adapter_of(layer, part);
    if (adapter != nullptr) {
      pre_backward(*adapter);
      builder_.allocate(streams_.compute, MemoryCategory::gradients, adapter->sizes->produced);
    }
    blocks_.backward_kernels(block, part_of(model_.kind(block).backward, part));
    if (adapter != nullptr) post_backward(*adapter, sync);
  }
  // A frozen unit is freed by a hook on its inputs, if they require a gradient (F40, F41). The hook keeps the inputs and
  // their gradients until the backward is over: published peaks hold them twice (compute study, section 4).
  if (!own.sizes->trains && own.inputs_need_gradient)
    held_by_hooks_ += blocks_.end_backward_holding(block);
  else
    blocks_.end_backward(block);
  if (own.sizes->trains || own.inputs_need_gradient)
    post_backward(own, sync);
  else
    own.left_to_the_end = true;
}

void Fsdp1Writer::pre_backward(Fsdp1Unit& unit) {
  unit.awaits_backward = false;
  parameters_.gather_for(unit, Phase::backward, "pre-backward hook");
  if (parallel_.fsdp1.backward_prefetch == BackwardPrefetch::pre) parameters_.prefetch_for_backward(unit);
}

void Fsdp1Writer::post_backward(Fsdp1Unit& unit, GradientSync sync) {
  builder_.phase(Phase::backward);
  builder_.unit(unit.number);
  if (unit.sizes->trains) gradients_.flatten(unit);
  builder_.host_work({}, "post-backward hook");
  parameters_.reshard(unit, frees_in_backward(sync));
  if (parallel_.fsdp1.backward_prefetch == BackwardPrefetch::post) parameters_.prefetch_for_backward(unit);
  if (unit.sizes->trains && sync == GradientSync::reduce) gradients_.reduce(unit);
}

void Fsdp1Writer::final_callback(GradientSync sync) {
  builder_.release(streams_.compute, MemoryCategory::activations, std::exchange(held_by_hooks_, Bytes{}));
  if (sync == GradientSync::reduce) gradients_.finish();
  if (model_.has_root) {
    builder_.unit(model_.root_unit().number);
    builder_.host_work({}, "final callback");
  }
  for (Fsdp1Unit& unit : model_.units) {
    if (!std::exchange(unit.left_to_the_end, false)) continue;
    parameters_.reshard(unit, frees_in_backward(sync));
  }
  order_is_known_ = true;
}

}  // namespace

WrittenStep write_fsdp1_step(const StepInput& input) {
  return Fsdp1Writer(input).write();
}

}  // namespace takt
