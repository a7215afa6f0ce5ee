#include "metrics/sizing/state_sizes.hpp"

namespace takt {
namespace {

constexpr std::int64_t half = 2;    // bytes of a 16-bit element
constexpr std::int64_t single = 4;  // bytes of an FP32 element

/// The largest of `ranks` equal parts.
Bytes part(Bytes whole, std::int64_t ranks) {
  return Bytes((whole.count() + ranks - 1) / ranks);
}

}  // namespace

StateSizes state_sizes(const Workload& workload) {
  const ModelStates& states = workload.states;
  return {.frozen_weights = states.frozen_weights,
          .weights = states.gradients,  // a gradient has the format of its weight
          .gradients = states.gradients,
          .master = states.trainable_weights - states.gradients,
          .optimizer = states.optimizer};
}

StateSizes states_per_card(const StateSizes& whole, Strategy strategy, std::int64_t ranks) {
  const bool shards_weights = strategy == Strategy::fsdp1 || strategy == Strategy::fsdp2 || strategy == Strategy::zero3;
  const bool shards_gradients = shards_weights || strategy == Strategy::zero2;
  const bool shards_optimizer = shards_gradients || strategy == Strategy::zero1;
  StateSizes card = whole;
  if (shards_weights) {
    card.frozen_weights = part(whole.frozen_weights, ranks);
    card.weights = part(whole.weights, ranks);
  }
  if (shards_gradients) card.gradients = part(whole.gradients, ranks);
  if (shards_optimizer) {
    card.master = part(whole.master, ranks);
    card.optimizer = part(whole.optimizer, ranks);
  }
  return card;
}

Bytes offloaded_size(std::int64_t trained_parameters) {
  constexpr std::int64_t moments = 2 * single;
  return Bytes(trained_parameters * (half + single + moments));
}

StateSizes states_beside_offload(const StateSizes& states_of_card) {
  return {.frozen_weights = states_of_card.frozen_weights,
          .weights = states_of_card.weights,
          .gradients = {},
          .master = {},
          .optimizer = {}};
}

CheckpointSizes checkpoint_sizes(const StateSizes& whole, std::int64_t trained_parameters) {
  const Bytes weights(half * trained_parameters);
  return {.weights = weights,
          .resumable = weights + Bytes(single * trained_parameters) + whole.optimizer,
          .training_state = whole.of_training()};
}

GuideTraffic guide_traffic(const StateSizes& whole, std::int64_t trained_parameters, std::int64_t ranks) {
  constexpr std::int64_t all_reduce_passes = 2;  // reduce and distribute
  constexpr std::int64_t gathers = 2;            // before forward and before backward
  constexpr std::int64_t reductions = 1;
  const Bytes base = whole.frozen_weights > Bytes{} ? whole.frozen_weights : whole.weights;
  const Bytes gradients(half * trained_parameters);
  return {.gradients = gradients,
          .all_reduce = all_reduce_passes * gradients,
          .gathered = gathers * (base - Bytes(base.count() / ranks)),
          .sharded_to_replicated = static_cast<double>(gathers + reductions) / all_reduce_passes};
}

}  // namespace takt
