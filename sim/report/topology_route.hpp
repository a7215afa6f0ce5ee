// One route and the narrowest place of a machine, for `takt topo show`.
#pragma once

#include "topology/topology.hpp"

#include <string>

namespace takt {

/// How `from` sends to `to`: the links in order with nominal and measured capacity, and what bounds a transfer alone.
/// Between cards as they exchange data (peer-to-peer, staged, over the network); between other devices the shortest
/// way.
std::string route_table(const Topology& topology, VertexId from, VertexId to);

/// "bisection: 102 GB/s a direction, gpu0 gpu1 | gpu2 gpu3, over cpu0 -> cpu1"; empty for fewer than two cards.
std::string bisection_line(const Topology& topology);

}  // namespace takt
