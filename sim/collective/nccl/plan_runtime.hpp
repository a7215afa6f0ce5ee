// From what NCCL chose to what the runtime model asks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collective/nccl/plan.hpp"
#include "collective/nccl/runtime_model.hpp"

namespace takt {

/// How neighbours `from` and `to` of a ring or tree exchange data.
HopKind hop_between(const NcclPlan& plan, std::int64_t from, std::int64_t to);

/// The hops of ring `ring` of the plan, by kind.
RingHops hops_of_ring(const NcclPlan& plan, std::size_t ring);

/// What links offer a collective, from the topology it runs on (GB/s, usable rates; see RuntimeQuery).
struct LinkRates {
  double edge = 0.0;
  double node_network = 0.0;
};

/// The call as `choice` runs it, with the hops of the plan's first ring.
RuntimeQuery runtime_query(const NcclPlan& plan, const CollectiveCall& call, const NcclChoice& choice,
                           const LinkRates& rates);

}  // namespace takt
