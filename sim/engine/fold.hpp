// Equal ranks played once.
//
// Ranks are equal if they run the same program at the same speed on cards of the same kind, belong to the same
// communicators, copy nothing over links that they would share, and if every activity of their collectives asks the
// same of each of their memories. Swapping two such ranks, with their memories, changes nothing of what is to be
// played, and the played timeline is unique: whatever one of them does, all do at the same time. So one is played, with
// the collectives as it sees them, and the others repeat it.
//
// What they ask of links stays as it is: a link belongs to no rank.
#pragma once

#include "engine/timeline.hpp"
#include "plan/plan.hpp"
#include "topology/resource.hpp"

#include <optional>
#include <vector>

namespace takt {

/// A plan's parts with its first rank alone; programs are the plan's own.
struct FoldedPlan {
  std::vector<RankBinding> ranks;
  std::vector<Communicator> communicators;
  std::vector<LoweredCollective> collectives;
};

/// Nothing where the plan's ranks are not all equal, or there is but one.
std::optional<FoldedPlan> fold_equal_ranks(const Plan& plan, const ResourceTable& resources);

/// The timeline of all ranks of `plan` from that of its folded form.
Timeline unfold_equal_ranks(Timeline folded, const Plan& plan);

}  // namespace takt
