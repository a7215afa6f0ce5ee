// Plans by what they depend on: equal communicators of a run and of all points of a sweep are searched once.
#pragma once

#include "collective/nccl/plan.hpp"

#include <memory>
#include <vector>

namespace takt {

/// plan_nccl() with its results kept: a memo of a pure function, safe to call from several threads. Names of NIC ports
/// count as content, so give equal servers equal names.
Result<std::shared_ptr<const NcclPlan>> planned(const std::vector<NcclSystem>& servers, const NcclSettings& settings,
                                                const std::shared_ptr<const NcclGraphFile>& graph_file);

}  // namespace takt
