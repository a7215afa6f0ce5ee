#include "engine/fold.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace takt {
namespace {

bool are_equal(const RankBinding& a, const RankBinding& b, const ResourceTable& resources) {
  return a.role == b.role && a.sm_count == b.sm_count && a.copy_engines == b.copy_engines && a.speed == b.speed &&
         a.communicators == b.communicators &&
         resources[index(a.memory)].capacity == resources[index(b.memory)].capacity;
}

bool copies(const Program& program) {
  return std::any_of(program.ops.begin(), program.ops.end(),
                     [](const Op& op) { return std::holds_alternative<Copy>(op.work); });
}

/// Which resources are memories of ranks. Empty if two ranks share one.
std::vector<bool> memories_of(const Plan& plan, const ResourceTable& resources) {
  std::vector<bool> memories(resources.size(), false);
  for (const RankBinding& rank : plan.ranks) {
    if (memories[index(rank.memory)]) return {};
    memories[index(rank.memory)] = true;
  }
  return memories;
}

/// Whether the activity asks the same of all `count` memories: nothing counts too.
bool asks_all_alike(const Activity& activity, const std::vector<bool>& memories, std::size_t count) {
  std::size_t asked = 0;
  double per_unit = 0.0;
  for (const Demand& demand : activity.demands) {
    if (!memories[index(demand.resource)]) continue;
    if (asked++ == 0) per_unit = demand.per_unit;
    if (demand.per_unit != per_unit) return false;
  }
  return asked == 0 || asked == count;
}

bool can_fold(const Plan& plan, const ResourceTable& resources, const std::vector<bool>& memories) {
  const RankBinding& first = plan.ranks.front();
  const std::size_t count = plan.ranks.size();
  const auto is_first = [&](const RankBinding& rank) { return are_equal(rank, first, resources); };
  if (!std::all_of(plan.ranks.begin(), plan.ranks.end(), is_first)) return false;
  if (copies(plan.programs[index(first.role)])) return false;
  for (const CommunicatorId id : first.communicators) {
    const Communicator& communicator = plan.communicators[index(id)];
    if (communicator.members.size() != count) return false;
    for (const CollectiveId call : communicator.lowered) {
      const auto& activities = plan.collectives[index(call)].activities;
      const auto alike = [&](const Activity& activity) { return asks_all_alike(activity, memories, count); };
      if (!std::all_of(activities.begin(), activities.end(), alike)) return false;
    }
  }
  return true;
}

template <class Row>
void repeat_first(std::vector<Row>& rows, std::size_t count) {
  const Row first = std::move(rows.front());
  rows.assign(count, first);
}

/// Charges of one rank: kernels wait for their own card's memory.
void rename_memory(std::vector<Charge>& charges, const std::vector<std::uint32_t>& offsets, const Program& program,
                   ResourceId from, ResourceId to) {
  for (std::size_t op = 0; op < program.ops.size(); ++op) {
    if (!std::holds_alternative<Segment>(program.ops[op].work)) continue;
    for (std::uint32_t i = offsets[op]; i < offsets[op + 1]; ++i) {
      if (charges[i].cause == Cause::resource && charges[i].resource == from) charges[i].resource = to;
    }
  }
}

/// Changes of the first rank's memory are those of every other's.
std::vector<RateChange> repeated(std::vector<RateChange> rates, const std::vector<RankBinding>& ranks) {
  std::vector<RateChange> all;
  for (const RateChange& change : rates) {
    all.push_back(change);
    if (change.resource != ranks.front().memory) continue;
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
      all.push_back({change.time, ranks[rank].memory, change.rate});
    }
  }
  return all;
}

}  // namespace

std::optional<FoldedPlan> fold_equal_ranks(const Plan& plan, const ResourceTable& resources) {
  if (plan.ranks.size() < 2) return std::nullopt;
  const std::vector<bool> memories = memories_of(plan, resources);
  if (memories.empty() || !can_fold(plan, resources, memories)) return std::nullopt;
  FoldedPlan folded{{plan.ranks.front()}, plan.communicators, plan.collectives};
  for (Communicator& communicator : folded.communicators) communicator.members = {id_at<RankId>(0)};
  const ResourceId kept = plan.ranks.front().memory;
  for (LoweredCollective& collective : folded.collectives) {
    for (Activity& activity : collective.activities) {
      std::erase_if(activity.demands,
                    [&](const Demand& demand) { return memories[index(demand.resource)] && demand.resource != kept; });
    }
  }
  return folded;
}

Timeline unfold_equal_ranks(Timeline folded, const Plan& plan) {
  const std::size_t count = plan.ranks.size();
  const RankBinding& first = plan.ranks.front();
  const Program& program = plan.programs[index(first.role)];
  repeat_first(folded.ops, count);
  repeat_first(folded.reasons, count);
  repeat_first(folded.charges, count);
  repeat_first(folded.charge_offsets, count);
  for (std::size_t rank = 1; rank < count; ++rank) {
    const ResourceId memory = plan.ranks[rank].memory;
    for (OpRecord& record : folded.ops[rank]) record.last_member = id_at<RankId>(rank);
    rename_memory(folded.charges[rank], folded.charge_offsets[rank], program, first.memory, memory);
    folded.resources[index(memory)] = folded.resources[index(first.memory)];
  }
  folded.rates = repeated(std::move(folded.rates), plan.ranks);
  return folded;
}

}  // namespace takt
