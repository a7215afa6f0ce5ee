// How fast jobs go that share a machine, from the timeline of their joined plan.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/timeline.hpp"
#include "plan/joined_plan.hpp"
#include "topology/resource.hpp"

namespace takt {

/// One job beside the others.
struct JobPace {
  Duration step_time{};    ///< mean over the counted steps
  std::int64_t steps = 0;  ///< counted: those that ended while every job still ran, without each job's first
};

/// The pace of every job, in order; without a value: a job had fewer than two whole steps while all others still ran.
/// A job's first step is not counted when later ones are, since all jobs start it together.
std::vector<std::optional<JobPace>> paces(const JoinedPlan& joined, const Timeline& timeline);

/// When each step of a job ended on its last rank.
std::vector<Duration> step_ends(const JoinedPlan& joined, std::size_t part, const Timeline& timeline);

/// Time that the ops of a job waited for a resource, a rank and step; in order of time, then name.
struct ResourceWait {
  std::string resource;
  Duration time{};
};
std::vector<ResourceWait> resource_waits(const JoinedPlan& joined, std::size_t part, const Timeline& timeline,
                                         const ResourceTable& resources);

}  // namespace takt
