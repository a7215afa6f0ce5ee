// How a step changes when the machine has more of something: the step is played again.
#pragma once

#include "base/result.hpp"
#include "plan/plan.hpp"
#include "topology/resource.hpp"

#include <string>
#include <vector>

namespace takt {

/// What the step becomes with more of a resource.
struct Sensitivity {
  std::string resource;  ///< "compute", "NCCL's own limits", "gpu -> sw" for all links between such devices
  Duration step_time{};
};

/// Plays the step again with `factor` times as much of each resource in turn: the kernels' speed, the caps of
/// collectives, their fixed times and latencies (shorter), and every kind of link or memory that a collective or copy
/// uses, links between devices of the same kinds taken together. Errors: none that the step itself did not have.
Result<std::vector<Sensitivity>> sensitivities(const Plan& plan, const ResourceTable& resources, double factor);

/// The name of a resource without its numbers: "gpu3 -> sw0" is "gpu -> sw".
std::string kind_of_resource(const std::string& name);

}  // namespace takt
