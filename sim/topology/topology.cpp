#include "topology/topology.hpp"

#include <mutex>
#include <unordered_map>
#include <utility>

#include "topology/card_route.hpp"
#include "topology/search.hpp"

namespace takt {

struct Topology::Impl {
  explicit Impl(Parts p) : parts(std::move(p)) {
    edges.resize(boost::num_edges(*parts.graph));
    for (const Edge& edge : boost::make_iterator_range(boost::edges(*parts.graph))) {
      edges[index((*parts.graph)[edge].id)] = edge;
    }
    for (std::size_t vertex = 0; vertex < boost::num_vertices(*parts.graph); ++vertex) {
      names.emplace((*parts.graph)[vertex].name, id_at<VertexId>(vertex));
    }
  }

  const CardInstance& card_at(VertexId vertex) const {
    const std::int32_t number = (*parts.graph)[index(vertex)].card;
    expects(number >= 0, "the vertex is a card");
    return parts.cards[static_cast<std::size_t>(number)];
  }

  /// By the machine's own way if none is given.
  const CardRoute& card_route(VertexId from, VertexId to, const std::optional<TransferWay>& way) const;

  Parts parts;
  std::vector<Edge> edges;                              // index = LinkId
  std::unordered_map<std::string, VertexId> names;
  mutable std::mutex mutex;                             // guards card_routes
  mutable std::unordered_map<std::uint64_t, CardRoute> card_routes;  // planned when first asked for; never iterated
};

Topology::Topology(Parts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}
Topology::~Topology() = default;
Topology::Topology(Topology&&) noexcept = default;
Topology& Topology::operator=(Topology&&) noexcept = default;

const std::string& Topology::id() const { return impl_->parts.id; }
const std::string& Topology::title() const { return impl_->parts.title; }
const Graph& GraphOf::topology(const Topology& topology) { return *topology.impl_->parts.graph; }
const ResourceTable& Topology::resources() const { return impl_->parts.resources; }
const std::vector<CardInstance>& Topology::cards() const { return impl_->parts.cards; }
const CardSpec& Topology::card_spec(const CardInstance& card) const { return impl_->parts.card_specs.at(card.spec); }
std::size_t Topology::device_count() const { return boost::num_vertices(GraphOf::topology(*this)); }

const Device& Topology::device(VertexId vertex) const { return GraphOf::topology(*this)[index(vertex)]; }
const Link& Topology::link(LinkId link) const { return GraphOf::topology(*this)[impl_->edges.at(index(link))]; }
VertexId Topology::link_source(LinkId link) const {
  return id_at<VertexId>(boost::source(impl_->edges.at(index(link)), GraphOf::topology(*this)));
}
VertexId Topology::link_target(LinkId link) const {
  return id_at<VertexId>(boost::target(impl_->edges.at(index(link)), GraphOf::topology(*this)));
}
std::size_t Topology::link_count() const { return impl_->edges.size(); }
std::int32_t Topology::server_count() const { return impl_->parts.server_count; }
const std::vector<NvlinkDomain>& Topology::nvlink_domains() const { return impl_->parts.nvlink_domains; }
const ServerSpec& Topology::server_spec() const { return impl_->parts.server; }

namespace {

/// 0 for the machine's own way, else one number for each way that can be prescribed.
std::uint64_t number_of(const std::optional<TransferWay>& way) {
  if (!way) return 0;
  const auto staged = [](NicAccess access) { return access == NicAccess::host_staged ? 1U : 0U; };
  return 1 + static_cast<std::uint64_t>(way->transport) * 4 + staged(way->sender) * 2 + staged(way->receiver);
}

}  // namespace

const CardRoute& Topology::Impl::card_route(VertexId from, VertexId to, const std::optional<TransferWay>& way) const {
  constexpr int vertex_bits = 30, way_bits = 4;
  const std::uint64_t key = (((std::uint64_t{index(from)} << vertex_bits) | std::uint64_t{index(to)}) << way_bits) |
                            number_of(way);
  {
    const std::lock_guard lock(mutex);
    const auto found = card_routes.find(key);
    if (found != card_routes.end()) return found->second;
  }
  CardRoute planned = way ? plan_card_route(parts, card_at(from), card_at(to), *way)
                          : plan_card_route(parts, card_at(from), card_at(to));
  const std::lock_guard lock(mutex);
  return card_routes.emplace(key, std::move(planned)).first->second;
}

const CardRoute& Topology::card_route(VertexId from, VertexId to) const {
  return impl_->card_route(from, to, std::nullopt);
}

const CardRoute& Topology::card_route(VertexId from, VertexId to, const TransferWay& way) const {
  return impl_->card_route(from, to, way);
}

std::optional<Route> Topology::to_host_memory(VertexId card) const {
  const std::optional<VertexId> memory = impl_->parts.memories[static_cast<std::size_t>(impl_->card_at(card).number)];
  return memory ? route(card, *memory) : std::nullopt;
}

std::optional<Route> Topology::from_host_memory(VertexId card) const {
  const std::optional<VertexId> memory = impl_->parts.memories[static_cast<std::size_t>(impl_->card_at(card).number)];
  return memory ? route(*memory, card) : std::nullopt;
}

std::optional<Route> Topology::route(VertexId from, VertexId to) const {
  std::optional<FoundRoute> found = find_route(GraphOf::topology(*this), from, to, Reach::everywhere);
  if (!found) return std::nullopt;
  return std::move(found->route);
}

std::optional<VertexId> Topology::find(const std::string& device_name) const {
  const auto found = impl_->names.find(device_name);
  if (found == impl_->names.end()) return std::nullopt;
  return found->second;
}

Result<Topology> topology_from_resources(ResourceTable resources) {
  Topology::Parts parts;
  parts.id = "resources";
  parts.title = "resources without devices";
  parts.graph = std::make_unique<Graph>();
  parts.resources = std::move(resources);
  for (const Resource& resource : parts.resources) {
    if (resource.capacity > 0.0) continue;
    return Diagnostic{Severity::error, {}, "the capacity of " + resource.name + " is not positive", ""};
  }
  return Topology(std::move(parts));
}

}  // namespace takt
