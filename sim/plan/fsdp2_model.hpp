// The FSDP2 units of a workload: the kernels that move their parameters and gradients, and the rank's streams.
#pragma once

#include "plan/fsdp_unit.hpp"
#include "plan/step.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace takt {

/// Kernels that move a unit's parameters and gradients; equal layers share them.
struct UnitKernels {
  Kernel gather_copy_in, copy_out, reduce_copy_in, cast_kept;
  Kernel group_copy;  ///< of the part that a rank keeps between forward and backward for its reshard group (S8)
  Kernel divide_before, divide_after;  ///< around a reduction in FP16 (S12)
};

/// Kernels that add gradients of a block to those of earlier micro-steps.
struct AccumulateKernels {
  std::vector<Kernel> unsharded, sharded;
};

/// A unit and its state while the program is written.
struct Fsdp2Unit {
  std::vector<std::size_t> blocks;
  std::uint32_t number = no_unit;
  const UnitSizes* sizes = nullptr;
  const UnitKernels* kernels = nullptr;
  bool reshard_after_forward = true;
  bool unshard_in_backward = true;  ///< false: its backward runs without its parameters (S16)
  std::optional<Event> gathering;   ///< its all-gather is issued and not yet copied out
  bool unsharded = false;
  std::optional<Event> in_group;   ///< the reshard group holds its parameters, once this copy is done
  bool kept_gradients = false;     ///< unsharded, of earlier micro-steps
  bool reduced_gradients = false;  ///< sharded, of earlier micro-steps
  bool gradients_on_host = false;  ///< ditto, offloaded
  bool post_backward_due = false;
};

/// Units refer to sizes and kernels that stand beside them, so a model stays where it was made.
class Fsdp2Model {
 public:
  /// `group`: ranks that share parameters between forward and backward (S8).
  Fsdp2Model(const StepInput& input, std::int64_t group);
  Fsdp2Model(const Fsdp2Model&) = delete;
  Fsdp2Model& operator=(const Fsdp2Model&) = delete;

  FsdpModel sizes;
  std::vector<Fsdp2Unit> units;  ///< in the order of forward, the root left out
  Fsdp2Unit root;

  const UnitSizes& sizes_of(std::size_t block) const { return sizes.of_kind[input_.workload.blocks[block]]; }
  const AccumulateKernels& accumulate(std::size_t block) const { return accumulate_[input_.workload.blocks[block]]; }

 private:
  const StepInput& input_;
  std::vector<UnitKernels> kernels_;           // of each kind of block
  std::vector<AccumulateKernels> accumulate_;  // of each kind of block
  UnitKernels root_kernels_, embedding_kernels_;
};

/// Streams and communicators of one rank. A group of one rank communicates nothing (S20): its collectives are left out,
/// the copies stay.
struct Fsdp2Streams {
  StreamId compute{}, copy_in{}, all_gather{}, reduce_scatter{}, all_reduce{};
  CommSlot shard{}, replicate{}, reshard{};
  std::vector<RankGroup> comm_groups;
};

Fsdp2Streams add_fsdp2_streams(ProgramBuilder& builder, const StepInput& input, std::int64_t group);

}  // namespace takt
