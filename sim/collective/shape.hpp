// A call with what NCCL chose for it, as lanes on links: ready to be timed and lowered.
#pragma once

#include "base/result.hpp"
#include "collective/lowering.hpp"
#include "collective/nccl/from_topology.hpp"
#include "collective/solo.hpp"

namespace takt {

struct ShapedCall {
  CollectiveShape shape;
  NcclChoice choice;
};

/// The cards of a communicator with NCCL's plan; without one where NCCL could not detect the servers, or where the
/// plain rings of sizing floors are asked for. `links` of the topology. Errors: those of plan_nccl().
Result<CommunicatorCards> plan_communicator(std::span<const VertexId> members, const Topology& topology,
                                            const LinksByServer& links, const CollectiveOptions& options);

/// Needs at least two members and bytes to move.
ShapedCall shape_call(const CollectiveCall& call, const CommunicatorCards& cards, const Topology& topology,
                      const CollectiveOptions& options);

}  // namespace takt
