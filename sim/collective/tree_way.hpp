// The longest way of a chunk through a tree: up to the root and down again.
//
// In steady state all edges of a tree move chunks at one common rate. The first chunk runs ahead of that: it passes the
// edges one after another, each as fast as the edge alone allows, and only then the pipeline is full.
#pragma once

#include "collective/lanes.hpp"
#include "topology/topology.hpp"

#include <span>
#include <vector>

namespace takt {

struct TreeWay {
  double share = 0.0;              ///< of the channels, that go this way
  std::vector<double> capacities;  ///< bytes/s, of the hops one after another
};

/// Of the tree whose longest way has the most hops, of these the slowest ones. Empty if the lanes are no trees.
TreeWay longest_way(std::span<const Lane> lanes, const Topology& topology);

}  // namespace takt
