// The lanes of a collective: what moves at one common rate. Every ring order is a lane, each pass of a tree, and all
// that goes through reducing switches. Channels in equal order share a lane.
#pragma once

#include "collective/call.hpp"
#include "collective/rings.hpp"
#include "collective/transfer.hpp"

#include <span>
#include <vector>

namespace takt {

enum class LaneKind : std::uint8_t { ring, tree_up, tree_down, switches };

struct Lane {
  LaneKind kind = LaneKind::ring;
  double share = 1.0;     ///< of the channels
  std::vector<Hop> hops;  ///< ring: in ring order; tree: of the pass's edges; switches: up and down of every card
};

/// The rings of the plan's first `ctas` channels (N60).
std::vector<Lane> ring_lanes(const CommunicatorCards& cards, std::int64_t ctas, const Topology& topology);
/// Rings in the orders of rings.hpp, for machines that NCCL does not know and for sizing floors.
std::vector<Lane> plain_ring_lanes(const CommunicatorCards& cards, const Topology& topology);
/// Up and down passes of the plan's trees (N61).
std::vector<Lane> tree_lanes(const CommunicatorCards& cards, std::int64_t ctas, const Topology& topology);
/// NVLS on one server: cards send to the switches and receive from them. Bytes over the links for each byte of work:
/// an all-reduce works off S (1 + 1/n), which goes both up and down; gather and scatter work off S, which goes whole in
/// one direction and as the card's n-th part in the other.
std::vector<Lane> nvls_lanes(const CommunicatorCards& cards, const CollectiveCall& call, const Topology& topology);
/// NVLSTree: NVLS with 1 + 1/p bytes a byte of the buffer for p cards a server, and binary trees between cards of equal
/// place.
std::vector<Lane> nvls_tree_lanes(const CommunicatorCards& cards, const Topology& topology);

}  // namespace takt
