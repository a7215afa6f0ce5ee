// From a collective call to activities on resources.
//
// A ring channel is ONE activity: its edges are pipelined and move at one common rate x (bytes/s per edge). It demands
// from a link direction as often as edges of the ring cross it. Channels in the same ring order are merged into one
// activity of equal weight each. Trees likewise, one activity a pass. See DESIGN section 2.
#pragma once

#include <span>

#include "collective/call.hpp"
#include "collective/lowered.hpp"
#include "config/scenario.hpp"
#include "topology/topology.hpp"

namespace takt {

struct CollectiveOptions {
  CollectiveSettings settings;
  bool nccl_limits = true;            ///< CTA caps and start-up work of the network study
  bool memory_contention = true;
  double hbm_traffic_factor = 2.0;
};

/// Lowers `call` over `members` (card vertices in ring order). One member: no activities, no time.
LoweredCollective lower_collective(const CollectiveCall& call, std::span<const VertexId> members,
                                   const Topology& topology, const CollectiveOptions& options);

}  // namespace takt
