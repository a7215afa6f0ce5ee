// How much two halves of the cards can exchange: the narrowest place of a machine.
#pragma once

#include "topology/topology.hpp"

#include <vector>

namespace takt {

/// A split of the cards into two halves (of n and n or n + 1) and what flows from the first to the second.
struct Bisection {
  std::vector<VertexId> first;  ///< with card 0
  std::vector<VertexId> second;
  Bandwidth bandwidth{};    ///< max-flow from the first half to the second, one direction, all links in use
  std::vector<LinkId> cut;  ///< a minimum cut: saturated links that all of it crosses
};

/// The split that can exchange least. Up to eight cards every split into halves is tried (35 of eight); with more, the
/// first half of the cards in card order against the second. Max-flow is an upper bound of what routes reach: it may
/// use several ways at once, counts one direction and does not know peer-to-peer levels. Needs at least two cards.
Bisection bisection(const Topology& topology);

}  // namespace takt
