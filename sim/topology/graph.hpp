// The graph of devices and links. The one header that names Boost.Graph; everything else uses these typedefs. It is
// apart from topology.hpp so that the floors above do not compile Boost.Graph.
#pragma once

#include <boost/graph/adjacency_list.hpp>

#include "topology/topology.hpp"

namespace takt {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Device, Link>;
using Vertex = boost::graph_traits<Graph>::vertex_descriptor;
using Edge = boost::graph_traits<Graph>::edge_descriptor;

/// The graph behind a topology.
struct GraphOf {
  static const Graph& topology(const Topology& topology);
};

}  // namespace takt
