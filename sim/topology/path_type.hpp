// How far two devices are apart, in nvidia-smi's names, and what each link adds to that (semantics N5, N10).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/topology.hpp"

namespace takt {

/// The name nvidia-smi prints: "X", "PIX", "PXB", "PHB", "NODE", "SYS"; "NV" for NVLink (see path_type_label), "NET"
/// between servers and "DIS" where no path exists.
std::string_view name_of(PathType type);

/// The path type a `level` of the server file means ("LOC", "NVL", "PIX", "PXB", "PHB", "NODE", "SYS");
/// nothing for other words.
std::optional<PathType> path_type_of(std::string_view level);

/// What a link adds to a path's type; a path has the worst type of its links (semantics N10). A PCIe link between two
/// switches makes it PXB, one that touches a socket PHB, one between sockets SYS. Chip fabric between virtual switches
/// bypasses no host bridge in the device tree, so it counts as PHB; fabric between two root complexes as NODE. So does a
/// path that enters a socket by one of its host bridges and leaves by another, which no single link shows.
PathType link_path_type(LinkKind kind, DeviceKind from, DeviceKind to);

/// "NV6", "PIX", ...: the cell of `nvidia-smi topo -m` for two cards.
std::string path_type_label(const Topology& topology, VertexId from, VertexId to);

/// The matrix of `nvidia-smi topo -m` over the cards of the topology, row by row.
std::vector<std::vector<std::string>> path_type_matrix(const Topology& topology);

}  // namespace takt
