// What build.cpp hands to Topology: a graph whose invariants hold.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "topology/graph.hpp"

namespace takt {

/// Servers are laid out one after another: vertex = server * vertices_per_server + local vertex, and the network's
/// switches after the last server.
struct Topology::Parts {
  std::string id;
  std::string title;
  std::unique_ptr<Graph> graph;                     ///< edge property `id` numbers the link directions 0, 1, 2, ...
  ResourceTable resources;
  std::vector<CardInstance> cards;
  std::map<std::string, CardSpec> card_specs;
  std::vector<NvlinkDomain> nvlink_domains;
  ServerSpec server;
  std::int32_t server_count = 1;
  std::vector<std::optional<VertexId>> nics;        ///< the NIC each card sends through; index = card number
  std::vector<std::optional<VertexId>> memories;    ///< the host memory nearest to each card; index = card number
};

}  // namespace takt
