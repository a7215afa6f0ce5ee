// What the strategies have in common: their input, the forward and backward of a block, gradients that add up over
// micro-steps, the optimizer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/scenario.hpp"
#include "plan/builder.hpp"
#include "plan/program.hpp"
#include "workload/workload.hpp"

namespace takt {

/// What a strategy writes its program from. A rank belongs to one shard group and to one replicate group.
struct StepInput {
  const Scenario& scenario;
  const Workload& workload;
  const KernelPricer& pricer;
  std::int64_t shard_ranks = 1;   ///< ranks that share one copy of the model
  std::int64_t replicas = 1;      ///< copies of the model
};

/// Which ranks a communicator of a program joins.
enum class RankGroup : std::uint8_t { shard, replicate, world, reshard };

/// A strategy's answer.
struct WrittenStep {
  Program program;
  std::vector<RankGroup> comm_groups;   ///< index with CommSlot
  Bytes states_per_rank{};              ///< weights, gradients and optimizer states that a rank stores
};

WrittenStep write_single_card_step(const StepInput& input);
WrittenStep write_ddp_step(const StepInput& input);
WrittenStep write_fsdp1_step(const StepInput& input);
WrittenStep write_fsdp2_step(const StepInput& input);
WrittenStep write_zero12_step(const StepInput& input);
WrittenStep write_zero3_step(const StepInput& input);

BuilderOptions builder_options(const Scenario& scenario);

/// Bytes of `elements` elements of `bytes_each` bytes, rounded up.
Bytes stored_size(std::int64_t elements, double bytes_each);

/// Sums over a block's parameters, nothing sharded.
struct BlockSizes {
  std::int64_t trainable_elements = 0;
  Bytes frozen_weights{};
  Bytes trainable_weights{};   ///< as stored (master copies)
  Bytes gradients{};           ///< as stored until the optimizer has used them
  Bytes optimizer{};

  Bytes total() const { return frozen_weights + trainable_weights + gradients + optimizer; }
};
BlockSizes block_sizes(const Workload& workload, const BlockKind& kind);

/// Whole-model sums of BlockSizes.
BlockSizes model_sizes(const Workload& workload);

/// Writes blocks of the workload onto a compute stream, with the memory that they hold.
class BlockWriter {
 public:
  BlockWriter(ProgramBuilder& builder, const Workload& workload, StreamId compute);

  void forward(std::size_t block);
  /// The same in parts: what the block takes; kernels of its forward; what it gives back.
  void begin_forward(std::size_t block);
  void forward_kernels(std::size_t block, std::span<const Kernel> kernels);
  void end_forward(std::size_t block);
  /// Recomputation and backward, all of it.
  void backward(std::size_t block);
  /// The same in parts, for strategies that do something in between: recomputation and what the backward allocates;
  /// kernels of the backward, which stay valid as ProgramBuilder::kernels asks; what the block gives back.
  void begin_backward(std::size_t block);
  void begin_recompute(std::size_t block);   ///< these three instead of begin_backward
  void recompute_kernels(std::size_t block, std::span<const Kernel> kernels);
  void end_recompute(std::size_t block);
  void backward_kernels(std::size_t block, std::span<const Kernel> kernels);
  void end_backward(std::size_t block);
  /// The same, but the layer's input and the gradient of its output stay, the latter unless the layer is the last one:
  /// what stays.
  Bytes end_backward_holding(std::size_t block);

  /// Number of a decoder layer among the layers; no_unit for the blocks around them.
  std::uint32_t number(std::size_t block) const { return numbers_[block]; }
  void at(Phase phase, std::size_t block);

 private:
  struct KindLabels {
    std::string forward, recompute, backward;
  };
  const BlockKind& kind(std::size_t block) const { return workload_.block(block); }
  const KindLabels& labels(std::size_t block) const { return labels_[workload_.blocks[block]]; }

  ProgramBuilder& builder_;
  const Workload& workload_;
  StreamId compute_;
  std::vector<KindLabels> labels_;        // of each kind
  std::vector<std::uint32_t> numbers_;    // of each block
};

/// A decoder layer; everything else (embedding, head) belongs to the root.
inline bool is_layer(const BlockKind& kind) { return kind.name == "layer"; }

Kernel copy_kernel(const KernelPricer& pricer, const char* name, Bytes read, Bytes written);

/// Gradients of a micro-step added to those of earlier ones: for each trainable parameter of a block, in registration
/// order, a kernel with two reads and one write of its shard among `ranks` ranks.
std::vector<Kernel> accumulate_kernels(const KernelPricer& pricer, const BlockKind& kind, std::int64_t ranks = 1);

/// Where a rank's part of the gradients is all there is of them, their norm needs the other parts: an all-reduce of one
/// number over this communicator.
struct NormReduction {
  CommSlot comm{};
};

/// Gradient clipping over `elements` gradients that this rank stores, if the scenario asks for it: their norm, its
/// all-reduce where they are sharded, and the scaling, which runs whether the norm is above the limit or not (semantics
/// H6, O6). To be called when compute waits for all gradients.
void write_clipping(ProgramBuilder& builder, StreamId compute, const StepInput& input, std::int64_t elements,
                    std::optional<NormReduction> reduction);

/// The CPU waits for the loss of a micro-step, once `compute` has done all that it was told, if the scenario says so
/// (semantics H7). To be called after each backward.
void write_loss_read_back(ProgramBuilder& builder, StreamId compute, const StepInput& input);

/// The optimizer over `elements` trainable elements that this rank stores; gives the gradients back at its end
/// (zero_grad sets them to none, semantics H8). The step's last words: the CPU waits for its end if the scenario reads
/// the loss then (H7).
void write_optimizer(ProgramBuilder& builder, StreamId compute, const StepInput& input, std::int64_t elements,
                     Bytes gradients);

}  // namespace takt
