// Model states, checkpoints and traffic as sizing guides count them: bytes a parameter, before anything runs.
//
// A parameter that trains takes 16 bytes under 32-bit AdamW: weight and gradient in 16 bits (2 + 2), master copy and
// two moments in FP32 (4 + 8); 10 bytes with 8-bit moments. A frozen one takes 2, or 0.516 in NF4 with double
// quantisation. Sharding divides by the cards. What a run executes differs in places (a ring moves 2 (N - 1) / N of
// what it reduces and guides count 2): these functions give the guides' figure, StepMetrics the executed one.
#pragma once

#include "config/scenario.hpp"
#include "workload/workload.hpp"

#include <cstdint>

namespace takt {

/// Model states by part. Adapters in FP32 are their own master copy.
struct StateSizes {
  Bytes frozen_weights{};
  Bytes weights{};    ///< of what trains, in the format that computes
  Bytes gradients{};  ///< in the same format
  Bytes master{};     ///< FP32 copy of the weights that train
  Bytes optimizer{};  ///< moments

  /// What exists because something trains: all but the frozen weights.
  Bytes of_training() const { return weights + gradients + master + optimizer; }
  Bytes total() const { return frozen_weights + of_training(); }
};

/// The unsharded states of a workload.
StateSizes state_sizes(const Workload& workload);

/// What one of `ranks` cards holds (ZeRO paper, figure 1; FSDP's full sharding divides as ZeRO stage 3 does).
StateSizes states_per_card(const StateSizes& whole, Strategy strategy, std::int64_t ranks);

/// ZeRO-Offload (Ren et al. 2021): 16-bit weights stay on the cards; gradients, FP32 master and moments live in host
/// memory once, whatever the number of cards: 14 bytes a parameter that trains.
Bytes offloaded_size(std::int64_t trained_parameters);
/// What stays on a card: the weights.
StateSizes states_beside_offload(const StateSizes& states_of_card);

struct CheckpointSizes {
  Bytes weights{};         ///< 16-bit weights of the model, or of the adapter
  Bytes resumable{};       ///< with master copy and moments: 14 bytes a parameter under 32-bit AdamW
  Bytes training_state{};  ///< with gradients too: 16 bytes, as guides count an adapter with optimizer states
};
CheckpointSizes checkpoint_sizes(const StateSizes& whole, std::int64_t trained_parameters);

/// Traffic of one card as guides count it, 2 bytes an element.
struct GuideTraffic {
  Bytes gradients{};   ///< of all that trains
  Bytes all_reduce{};  ///< of these, a step without sharding: 2 x gradients (a ring moves 2 (N - 1) / N of them)
  /// Received in forward and backward under full sharding: two gathers of the base's weights, less the card's own part.
  Bytes gathered{};
  /// All collectives of full sharding over all of data parallelism: two gathers and a reduce-scatter to two passes.
  double sharded_to_replicated = 0.0;
};
GuideTraffic guide_traffic(const StateSizes& whole, std::int64_t trained_parameters, std::int64_t ranks);

}  // namespace takt
