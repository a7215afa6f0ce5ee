// The cheapest route between two devices, found with Boost.Graph.
#pragma once

#include <optional>
#include <vector>

#include "topology/graph.hpp"

namespace takt {

/// Which links a search may use.
enum class Reach {
  server,      ///< everything but the network: the search stays inside the server it starts in
  network,     ///< network links alone, from NIC to NIC
  everywhere,  ///< all links, with NICs as way stations
};

struct FoundRoute {
  PathType type = PathType::self;
  Route route;
};

/// The route with the best path type; among those the one with fewest links, then the least latency, then the one that
/// comes last by the lower link id at each device. Nothing if there is none whose type is at most `worst`.
std::optional<FoundRoute> find_route(const Graph& graph, VertexId from, VertexId to, Reach reach,
                                     PathType worst = PathType::net);

/// Of every device, the type of the route to it, by one sweep for all of them; nothing where there is none. Two root
/// complexes of one socket count as `phb` here.
std::vector<std::optional<PathType>> path_types_from(const Graph& graph, VertexId from, Reach reach);

/// Two routes one after the other; the first must end where the second begins.
Route join_routes(const Route& first, const Route& second);

}  // namespace takt
