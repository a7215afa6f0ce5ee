// A Takt topology as NCCL would detect it.
#pragma once

#include "collective/nccl/settings.hpp"
#include "collective/nccl/system.hpp"
#include "topology/topology.hpp"

#include <span>
#include <vector>

namespace takt {

/// The link directions that leave the devices of each server, in order of id.
using LinksByServer = std::vector<std::vector<LinkId>>;
LinksByServer links_by_server(const Topology& topology);

/// The servers of `members` (card vertices in rank order; at least one), by their lowest rank, each with those of its
/// cards that take part. Speeds are NCCL's own for the generation and lanes of each PCIe link, never those of the file:
/// NCCL does not measure (N1). None at all if NCCL could not detect a server: one without sockets, or with a card that
/// hangs on no PCIe link.
std::vector<NcclSystem> nccl_systems(std::span<const VertexId> members, const Topology& topology,
                                     const LinksByServer& links);
std::vector<NcclSystem> nccl_systems(std::span<const VertexId> members, const Topology& topology);

/// `settings` with what the server's file says of peer-to-peer: whether it is on, and its level if the file states one.
/// A level that is asked for stands.
NcclSettings with_peer_to_peer_of(NcclSettings settings, const ServerSpec& server);

}  // namespace takt
