// The parameter groups of fully_shard and what their collectives carry (semantics S1, S4, S16).
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "plan/program.hpp"
#include "workload/workload.hpp"

namespace takt {

/// Elements of one rank's shard of a parameter: dimension 0 is cut into `ranks` equal parts, the last ones padded.
constexpr std::int64_t padded_shard_elements(const Parameter& parameter, std::int64_t ranks) {
  return (parameter.rows + ranks - 1) / ranks * parameter.columns;
}

/// Sums over a group's parameters, padding included where a size is sharded or moved.
struct UnitSizes {
  Bytes gathered{};                        ///< all-gather output: shards of all ranks
  Bytes gathered_shard{};                  ///< one rank's part of it
  Bytes cast_read{}, cast_written{};       ///< master shards made gathered ones before each all-gather (S5)
  Bytes reduced{};                         ///< reduce-scatter input; 0 if nothing trains
  Bytes reduced_shard{};                   ///< its output
  Bytes gradients{};                       ///< what backward produces, in the parameters' format
  Bytes accumulated{};                     ///< unsharded gradients kept without synchronisation, as they are reduced
  std::int64_t trainable_shard_elements = 0;
  Bytes weight_shard{};                    ///< stored weights of a rank (master copies of those that train)
  Bytes gradient_shard{};                  ///< stored gradients of a rank
  Bytes optimizer_shard{};

  UnitSizes& operator+=(const UnitSizes& other);
};

UnitSizes unit_sizes(const Workload& workload, const BlockKind& kind, std::int64_t ranks);

/// Whether the embedding is in the root's group or has one of its own.
enum class EmbeddingGroup { root, own };

/// The calls of fully_shard: one for each decoder layer, one for the embedding if it is wrapped apart, and one, the
/// root, for all blocks that are left.
struct FsdpModel {
  std::vector<std::size_t> layers;         ///< blocks of the workload, forward order
  std::vector<std::size_t> embedding_blocks;  ///< before the first layer, if they are a group of their own
  std::vector<std::size_t> before;         ///< the root's blocks before the first layer (embedding)
  std::vector<std::size_t> after;          ///< the root's blocks after the last layer (head)
  std::vector<UnitSizes> of_kind;          ///< index as Workload::kinds
  UnitSizes root, embedding;
  UnitSizes total;

  bool has_root() const { return !before.empty() || !after.empty(); }
};

FsdpModel fsdp_model(const Workload& workload, std::int64_t ranks, EmbeddingGroup embedding = EmbeddingGroup::root);

}  // namespace takt
