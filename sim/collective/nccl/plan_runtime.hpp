// From what NCCL chose to what the runtime model asks.
#pragma once

#include "collective/nccl/plan.hpp"
#include "collective/nccl/runtime_model.hpp"

#include <cstddef>
#include <cstdint>

namespace takt {

/// How neighbours `from` and `to` of a ring or tree exchange data.
HopKind hop_between(const NcclPlan& plan, std::int64_t from, std::int64_t to);

/// The hops of ring `ring` of the plan, by kind.
RingHops hops_of_ring(const NcclPlan& plan, std::size_t ring);

}  // namespace takt
