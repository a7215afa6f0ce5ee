// Which ranks share one copy of the model, and which hold the same part of its copies.
#pragma once

#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "config/scenario.hpp"
#include "topology/topology.hpp"

namespace takt {

/// Ranks cut into consecutive shard groups of equal size; replicate group r joins the r-th rank of each.
struct RankLayout {
  std::int64_t shard_ranks = 1;
  std::int64_t replicas = 1;
  std::int64_t reshard_ranks = 0;   ///< consecutive ranks of a shard group that hold one copy after forward (S8); 0: none
};

/// Without sharding every rank is a replica. Hybrid: parallel.shard_group ranks, or the cards of one server, share one
/// copy. Errors: a group that does not divide the ranks; servers that take part with unequal numbers of cards, when no
/// group is given; strategy none with several cards.
Result<RankLayout> rank_layout(const Scenario& scenario, const std::vector<CardInstance>& cards);

/// Members of each shard group, in rank order.
std::vector<std::vector<RankId>> shard_groups(RankLayout layout);
/// Members of each replicate group, in rank order.
std::vector<std::vector<RankId>> replicate_groups(RankLayout layout);

}  // namespace takt
