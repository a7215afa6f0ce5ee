// The network between the servers of a cluster.
#pragma once

#include <span>
#include <vector>

#include "config/hardware_spec.hpp"
#include "topology/graph_builder.hpp"

namespace takt {

struct NetworkPort {
  VertexId nic{};
  Bandwidth speed{};  ///< per direction, positive
};

/// Adds switches and links behind the NICs. `ports[s]` are those of server s in the order of the server file; all
/// servers have equally many, at least one.
void add_network(GraphBuilder& builder, const ClusterSpec& cluster, std::span<const std::vector<NetworkPort>> ports);

}  // namespace takt
