// Grows the graph and the table of resources together, so that every link direction has its resource.
#pragma once

#include <memory>
#include <string>

#include "config/scenario.hpp"
#include "topology/graph.hpp"
#include "topology/resource.hpp"

namespace takt {

/// A physical link: becomes two directions of equal capacity.
struct PhysicalLink {
  VertexId from{};
  VertexId to{};
  LinkType type;
  bool assumed = false;
  std::int64_t host_bridge = 0;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(LinkBasis basis) : basis_(basis), graph_(std::make_unique<Graph>()) {}

  VertexId add_device(Device device);

  /// Adds a resource for each direction. The sum of both directions is capped where that was measured, and always for
  /// host memory, whose reads and writes share one bus. Nominal capacities know no measured caps.
  void add_link(const PhysicalLink& link);

  ResourceId add_resource(Resource resource);

  Graph& graph() { return *graph_; }
  std::unique_ptr<Graph> take_graph() { return std::move(graph_); }
  ResourceTable take_resources() { return std::move(resources_); }

 private:
  std::optional<ResourceId> add_shared(const PhysicalLink& link, Bandwidth one_direction);

  LinkBasis basis_;
  std::unique_ptr<Graph> graph_;
  ResourceTable resources_;
  std::size_t next_link_ = 0;
};

}  // namespace takt
