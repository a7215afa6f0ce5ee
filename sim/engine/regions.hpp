// Divides the resources of a plan into regions, so that few messages lie in several.
//
// Resources that a message uses at once are neighbours. Walked breadth first, neighbours come close after one another: a
// ring is unrolled from where the walk begins, servers that pass on to each other follow each other. The walk is cut into
// pieces with as many messages each; only what crosses a cut lies in two regions. (Cuthill and McKee order sparse matrices
// in this way.) Nothing of it depends on the number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collective/lowered.hpp"
#include "engine/simulate.hpp"
#include "plan/plan.hpp"

namespace takt {

struct Regions {
  static constexpr std::uint32_t most = 8;
  std::uint32_t count = 0;                ///< 0: the network is not divided
  std::vector<std::uint8_t> of_resource;  ///< below count; empty if it is 0
};

/// The regions of a network of so many resources on which these communicators send messages.
Regions divided(std::span<const Communicator> communicators, std::span<const LoweredCollective> collectives,
                std::size_t resources, Division division);

}  // namespace takt
