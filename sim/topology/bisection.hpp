// How much two halves of the cards can exchange: the narrowest place of a machine.
#pragma once

#include "topology/topology.hpp"

#include <vector>

namespace takt {

/// A split of the cards into two halves (of n and n or n + 1) and what they exchange.
struct Bisection {
  /// How far the search for the narrowest split went.
  enum class Search {
    every_split,  ///< all, up to exchanging cards that are alike
    candidates    ///< some splits only: the narrowest may be narrower
  };

  std::vector<VertexId> first;
  std::vector<VertexId> second;
  /// From each half to the other while both send, per direction: max-flow over all links, each counted with at most
  /// half of what its two directions carry together.
  Bandwidth bandwidth{};
  std::vector<LinkId> cut;  ///< a minimum cut: saturated links from the first half that all of it crosses
  Search search = Search::every_split;
};

/// The split that can exchange least. Cards whose exchange leaves the graph as it is are alike, so only their number in
/// a half matters; with this, every split is tried where at most 5,000 are left (16 cards under four switches: 85).
/// Otherwise, as in clusters, these candidates: the first half of the cards in card order, every second card, every
/// second server, and of each server the first half, or those of its first sockets. Max-flow is an upper bound of what
/// routes reach: it may use several ways at once and does not know peer-to-peer levels. Needs at least two cards.
Bisection bisection(const Topology& topology);

}  // namespace takt
