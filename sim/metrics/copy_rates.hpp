// What several transfers between cards reach when they run at once: copy engines or posted writes, no collectives.
#pragma once

#include "topology/topology.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace takt {

/// A transfer from one card to another, by card numbers. Either end may be the card's host memory (-1).
struct Transfer {
  static constexpr std::int64_t host = -1;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// The max-min fair rate of each transfer over its route (DESIGN section 2): every link direction and every cap of both
/// directions is shared by those that cross it. Ends must be cards of the topology, not both the host; a transfer
/// without a route has rate 0.
std::vector<Bandwidth> copy_rates(const Topology& topology, std::span<const Transfer> transfers);

}  // namespace takt
