// Several plans as one: jobs that share a machine, each taking step after step.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace takt {

/// One job.
struct PlanPart {
  const Plan* plan = nullptr;
  std::string name;                           ///< before the names of its ranks
  std::int64_t steps = 1;                     ///< how many it takes, one after another
  std::map<ResourceId, ResourceId> resources; ///< those that stand for others of the plan's own
};

/// Where a job is in the joined plan.
struct JoinedPart {
  std::uint32_t first_rank = 0;
  std::uint32_t ranks = 0;
  /// [role of the job][step]: the first op of each step in its program, and one past the last of all.
  std::vector<std::vector<std::uint32_t>> steps;
  std::uint32_t first_role = 0;
};

struct JoinedPlan {
  Plan plan;
  std::vector<JoinedPart> parts;
};

/// The parts side by side. A job whose plan begins with earlier iterations goes on as it does from iteration to
/// iteration; any other begins a step when all its streams are done with the one before. All plans must have equal
/// SmContention.
JoinedPlan joined(std::span<const PlanPart> parts);

}  // namespace takt
