// Who the step time is due to.
#pragma once

#include "engine/timeline.hpp"
#include "metrics/step_metrics.hpp"
#include "plan/plan.hpp"
#include "topology/resource.hpp"

#include <vector>

namespace takt {

/// The critical path's time by cause, largest first. The entries add up to `timeline.end` exactly.
std::vector<BlameEntry> blame(const Plan& plan, const Timeline& timeline, const ResourceTable& resources);

}  // namespace takt
