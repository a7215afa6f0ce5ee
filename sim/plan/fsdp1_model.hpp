// The FSDP1 units of a workload: what each weighs, the kernels that handle it, and in which order hooks reach them.
#pragma once

#include "plan/fsdp1_unit.hpp"
#include "plan/step.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace takt {

/// Kernels that handle a unit's parameters and gradients. Units of one kind share them.
struct FlatKernels {
  Kernel cast_shard, to_flat, accumulate_kept, cast_gradient, pad, divide_before, divide_after, cast_reduced,
      accumulate;
};

inline constexpr std::size_t no_target = static_cast<std::size_t>(-1);

/// A unit and its state while the program is written.
struct Fsdp1Unit {
  std::uint32_t number = no_unit;
  const FlatSizes* sizes = nullptr;
  const FlatKernels* kernels = nullptr;
  bool is_root = false;
  bool needs_backward = true;  ///< its outputs require a gradient
  bool inputs_need_gradient = true;
  std::size_t before_in_post_forward = no_target, next_in_pre_forward = no_target;  ///< in Fsdp1Model::units

  bool unsharded = false;
  bool prefetched = false;
  bool awaits_backward = false;   ///< its forward is done, its pre-backward is not
  std::optional<Event> gathered;  ///< its all-gather, which compute has not waited for yet
  bool kept_gradient = false;     ///< unsharded, of earlier micro-steps
  bool reduced_gradient = false;  ///< sharded, of earlier micro-steps
  bool left_to_the_end = false;   ///< freed by the final callback (F41)
};

/// Units refer to sizes and kernels that stand beside them, so a model stays where it was made.
class Fsdp1Model {
 public:
  explicit Fsdp1Model(const StepInput& input);
  Fsdp1Model(const Fsdp1Model&) = delete;
  Fsdp1Model& operator=(const Fsdp1Model&) = delete;

  std::vector<Fsdp1Unit> units;            ///< in the order of pre-forward, the root first if there is one
  std::vector<std::size_t> layers;         ///< blocks of the decoder layers
  std::vector<std::size_t> before, after;  ///< blocks around them, which are the root's
  FlatSizes root, total;
  bool has_root = false;

  Fsdp1Unit& root_unit() { return units.front(); }
  Fsdp1Unit& unit_of(std::size_t layer) { return units[layer_units_[layer]]; }
  /// The unit in which a part of a layer's pass runs besides the layer's own, if any (F43).
  Fsdp1Unit* adapter_of(std::size_t layer, const PassPart& part) {
    return part.adapter ? &units[layer_units_[layer] + 1 + *part.adapter] : nullptr;
  }
  const FlatBlock& flat(std::size_t block) const { return flat_[input_.workload.blocks[block]]; }
  const BlockKind& kind(std::size_t block) const { return input_.workload.block(block); }

 private:
  void price();
  void add_units();
  void order_units();
  std::size_t add_unit(const FlatSizes& sizes, const FlatKernels& kernels, std::uint32_t number);

  const StepInput& input_;
  std::vector<FlatBlock> flat_;                    // of each kind of block
  std::vector<std::vector<FlatKernels>> kernels_;  // of each kind: its own unit, then its adapters
  FlatKernels root_kernels_;
  std::vector<std::size_t> layer_units_;  // of each decoder layer; its adapters follow it
};

/// Streams and communicators of one rank. Without replicas what follows a reduce-scatter stays on its stream (F5).
/// Unsharded, gradients are all-reduced there; alone, there is nothing to reduce and compute does the rest.
struct Fsdp1Streams {
  StreamId compute{}, unshard{}, pre_unshard{}, post_backward{}, all_reduce{};
  CommSlot shard{}, replicate{};
  std::vector<RankGroup> comm_groups;
};

Fsdp1Streams add_fsdp1_streams(ProgramBuilder& builder, const StepInput& input);

}  // namespace takt
