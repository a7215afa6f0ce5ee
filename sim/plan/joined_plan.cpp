#include "plan/joined_plan.hpp"

#include <algorithm>
#include <utility>

#include "base/contract.hpp"

namespace takt {
namespace {

/// A program with its measured step repeated, and where each step begins.
class RepeatedProgram {
 public:
  RepeatedProgram(const Program& program, std::int64_t steps) : source_(program), result_(program) {
    const std::uint32_t first = program.first_measured;
    const bool carries_over = first > 0;
    result_.first_measured = 0;
    begins_ = {first};
    for (std::int64_t step = 1; step < steps; ++step) {
      if (!carries_over) wait_for_all_streams();
      append_step();
      begins_.push_back(begin_of_last_);
    }
    begins_.push_back(static_cast<std::uint32_t>(result_.ops.size()));
  }

  Program take_program() { return std::move(result_); }
  std::vector<std::uint32_t> take_begins() { return std::move(begins_); }

 private:
  /// The CPU waits for the last op of every stream since the step began.
  void wait_for_all_streams() {
    std::vector<std::pair<StreamId, std::uint32_t>> last;
    for (std::uint32_t i = begins_.back(); i < result_.ops.size(); ++i) {
      const Op& op = result_.ops[i];
      if (std::holds_alternative<HostWork>(op.work) || std::holds_alternative<HostWait>(op.work)) continue;
      const auto found = std::find_if(last.begin(), last.end(), [&](const auto& e) { return e.first == op.stream; });
      if (found == last.end()) last.emplace_back(op.stream, i);
      else found->second = i;
    }
    for (const auto& [stream, op] : last) {
      Op wait;
      wait.work = HostWait{id_at<OpId>(op)};
      result_.ops.push_back(std::move(wait));
    }
  }

  /// The measured step once more; what it waited for in itself and in the step before it waits for there again.
  void append_step() {
    const auto shift = static_cast<std::uint32_t>(result_.ops.size()) - source_.first_measured;
    begin_of_last_ = static_cast<std::uint32_t>(result_.ops.size());
    for (std::size_t i = source_.first_measured; i < source_.ops.size(); ++i) {
      Op op = source_.ops[i];
      for (OpId& wait : op.waits) wait = id_at<OpId>(index(wait) + shift);
      if (auto* wait = std::get_if<HostWait>(&op.work)) wait->op = id_at<OpId>(index(wait->op) + shift);
      result_.ops.push_back(std::move(op));
    }
  }

  const Program& source_;
  Program result_;
  std::vector<std::uint32_t> begins_;
  std::uint32_t begin_of_last_ = 0;
};

class Joiner {
 public:
  void add(const PlanPart& part) {
    expects(part.plan != nullptr && part.steps >= 1, "a part is a plan that takes a step");
    JoinedPart place;
    place.first_rank = size(result_.plan.ranks);
    place.ranks = size(part.plan->ranks);
    place.first_role = size(result_.plan.programs);
    const std::uint32_t first_communicator = size(result_.plan.communicators);
    const std::uint32_t first_collective = size(result_.plan.collectives);
    for (const Program& program : part.plan->programs) {
      RepeatedProgram repeated(program, part.steps);
      result_.plan.programs.push_back(repeated.take_program());
      place.steps.push_back(repeated.take_begins());
    }
    for (RankBinding rank : part.plan->ranks) {
      rank.role = id_at<RoleId>(index(rank.role) + place.first_role);
      rank.name = part.name + ": " + rank.name;
      rank.memory = replaced(part, rank.memory);
      for (CommunicatorId& id : rank.communicators) id = id_at<CommunicatorId>(index(id) + first_communicator);
      for (CopyPath& path : rank.paths) replace(part, path.demands);
      result_.plan.ranks.push_back(std::move(rank));
    }
    for (Communicator communicator : part.plan->communicators) {
      communicator.name = part.name + ": " + communicator.name;
      for (RankId& member : communicator.members) member = id_at<RankId>(index(member) + place.first_rank);
      for (CollectiveId& id : communicator.lowered) id = id_at<CollectiveId>(index(id) + first_collective);
      result_.plan.communicators.push_back(std::move(communicator));
    }
    for (LoweredCollective collective : part.plan->collectives) {
      for (Activity& activity : collective.activities) replace(part, activity.demands);
      result_.plan.collectives.push_back(std::move(collective));
    }
    result_.plan.sm_contention = part.plan->sm_contention;
    result_.parts.push_back(std::move(place));
  }

  JoinedPlan take() { return std::move(result_); }

 private:
  template <class List>
  static std::uint32_t size(const List& list) {
    return static_cast<std::uint32_t>(list.size());
  }
  static ResourceId replaced(const PlanPart& part, ResourceId resource) {
    const auto found = part.resources.find(resource);
    return found == part.resources.end() ? resource : found->second;
  }
  static void replace(const PlanPart& part, std::vector<Demand>& demands) {
    for (Demand& demand : demands) demand.resource = replaced(part, demand.resource);
  }

  JoinedPlan result_;
};

}  // namespace

JoinedPlan joined(std::span<const PlanPart> parts) {
  Joiner joiner;
  for (const PlanPart& part : parts) joiner.add(part);
  return joiner.take();
}

}  // namespace takt
