// A topology in forms that other tools read: a Graphviz drawing and the matrix of `nvidia-smi topo -m`.
#pragma once

#include "topology/topology.hpp"

#include <string>

namespace takt {

/// A drawing for Graphviz' `dot`: a box for each server with a box for each socket in it, cards, switches and NICs as
/// shapes, every physical link once with its type and its capacity per direction. Assumed links are dashed.
std::string topology_dot(const Topology& topology);

/// The matrix that `nvidia-smi topo -m` prints on the (first) server: cards and NICs, CPU and NUMA affinity, legend of
/// the NICs. CPUs are numbered socket by socket; sockets without a number of cores print none. Importing the text gives
/// the same distances.
std::string topology_matrix(const Topology& topology);

/// The cell of that matrix for two devices of one server: "X", "NV6", "PIX", ...
std::string distance_label(const Topology& topology, VertexId from, VertexId to);

}  // namespace takt
