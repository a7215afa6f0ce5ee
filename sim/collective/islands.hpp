// The hierarchical form, for comparison with what NCCL does: collectives inside each NVLink island and between islands.
//
// With k islands of m cards and n = k m, of a message S:
//   all-gather      m at once between cards of equal place: each gathers S / m over k cards; then each island gathers S
//   reduce-scatter  the reverse: each island reduces S to S / m a card; then k cards of equal place reduce S / m
//   all-reduce      reduce-scatter of S in each island, all-reduce of S / m between, all-gather of S in each island
// Each part is a collective of its own as NCCL would run it; parts of one step run at once and share links; a step
// begins when all parts of the step before it have ended. NCCL has no such algorithm: frameworks build it from
// communicators.
#pragma once

#include "collective/call.hpp"
#include "topology/topology.hpp"

#include <span>
#include <vector>

namespace takt {

/// Members of each island, in rank order; empty unless there are at least two islands of at least two cards each, all
/// of equal size. Islands are NVLink domains, or servers where the cards of none are joined by NVLink.
std::vector<std::vector<VertexId>> islands_of(std::span<const VertexId> members, const Topology& topology);

struct IslandPart {
  CollectiveCall call;
  std::vector<VertexId> members;
};

/// The steps, each a list of collectives that run at once. All-gather, reduce-scatter and all-reduce only.
std::vector<std::vector<IslandPart>> island_steps(const CollectiveCall& call,
                                                  const std::vector<std::vector<VertexId>>& islands);

}  // namespace takt
