#include "topology/graph_builder.hpp"

#include <utility>

#include "base/contract.hpp"

namespace takt {

VertexId GraphBuilder::add_device(Device device) {
  return id_at<VertexId>(boost::add_vertex(std::move(device), *graph_));
}

ResourceId GraphBuilder::add_resource(Resource resource) {
  expects(resource.capacity > 0.0, "a resource has a positive capacity");
  resources_.push_back(std::move(resource));
  return id_at<ResourceId>(resources_.size() - 1);
}

std::optional<ResourceId> GraphBuilder::add_shared(const PhysicalLink& link, Bandwidth one_direction) {
  const std::string name = (*graph_)[index(link.from)].name + " <-> " + (*graph_)[index(link.to)].name;
  const bool is_memory = link.type.kind == LinkKind::memory;
  const bool is_measured = basis_ == LinkBasis::measured && link.type.both_directions.has_value();
  if (!is_memory && !is_measured) return std::nullopt;
  const double capacity = is_measured ? link.type.both_directions->count() : one_direction.count();
  return add_resource({name, is_memory ? ResourceKind::host_memory : ResourceKind::both_directions, capacity});
}

void GraphBuilder::add_link(const PhysicalLink& physical) {
  const LinkType& type = physical.type;
  const Bandwidth preferred = basis_ == LinkBasis::nominal ? type.nominal : type.effective;
  const Bandwidth capacity = preferred.count() > 0.0 ? preferred : type.nominal;
  const auto direction_name = [&](VertexId from, VertexId to) {
    return (*graph_)[index(from)].name + " -> " + (*graph_)[index(to)].name;
  };
  Link link{.id = id_at<LinkId>(next_link_),
            .reverse = id_at<LinkId>(next_link_ + 1),
            .kind = type.kind,
            .generation = type.generation,
            .lanes = type.lanes,
            .host_bridge = physical.host_bridge,
            .nominal = type.nominal,
            .effective = type.effective,
            .capacity = capacity,
            .latency = type.latency,
            .resource = add_resource({direction_name(physical.from, physical.to), ResourceKind::link,
                                      capacity.count()}),
            .both_directions = std::nullopt,
            .type = type.id,
            .source = type.source,
            .assumed = physical.assumed};
  Link reverse = link;
  std::swap(reverse.id, reverse.reverse);
  reverse.resource = add_resource({direction_name(physical.to, physical.from), ResourceKind::link, capacity.count()});
  link.both_directions = add_shared(physical, capacity);
  reverse.both_directions = link.both_directions;
  next_link_ += 2;
  boost::add_edge(index(physical.from), index(physical.to), std::move(link), *graph_);
  boost::add_edge(index(physical.to), index(physical.from), std::move(reverse), *graph_);
}

}  // namespace takt
