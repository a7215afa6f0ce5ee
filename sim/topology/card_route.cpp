// Transports, as NCCL chooses them (semantics N10 to N14):
// - NVLink, or a PCIe path no worse than the level: the sender writes into the receiver's memory.
// - Else through host memory on the receiver's side: sender -> memory -> receiver, both legs at once, so that the
//   transfer crosses the links of both and writes and reads the memory.
// - Between servers through the NIC nearest to each card. A NIC farther than PXB, or a card without PCIe peer-to-peer,
//   goes through host memory on the way to the NIC (N14).
// Two states of a server change the ways: a translating IOMMU forbids PCIe peer-to-peer altogether, and ACS sends what
// two devices would exchange inside switches up to the root port and back.
#include "topology/card_route.hpp"

#include "topology/path_type.hpp"
#include "topology/search.hpp"

#include <algorithm>
#include <utility>

namespace takt {
namespace {

bool writes_to_peers(const Topology::Parts& parts, const CardInstance& card) {
  const PeerToPeerSpec& state = parts.server.peer_to_peer;
  return state.enabled && !state.iommu && parts.card_specs.at(card.spec).pcie_peer_to_peer;
}

std::optional<Route> inside_server(const Topology::Parts& parts, VertexId from, VertexId to) {
  std::optional<FoundRoute> found = find_route(*parts.graph, from, to, Reach::server);
  if (!found) return std::nullopt;
  return std::move(found->route);
}

std::optional<Route> via(const Topology::Parts& parts, VertexId from, VertexId middle, VertexId to) {
  const std::optional<Route> first = inside_server(parts, from, middle);
  const std::optional<Route> second = inside_server(parts, middle, to);
  if (!first || !second) return std::nullopt;
  return join_routes(*first, *second);
}

CardRoute made_of(Transport transport, PathType type, std::optional<Route> route, std::pair<VertexId, VertexId> ends) {
  if (route) return {transport, type, *std::move(route)};
  return {transport, PathType::disconnected, Route{ends.first, ends.second, {}, Duration{}}};
}

CardRoute staged(const Topology::Parts& parts, const CardInstance& from, const CardInstance& to, PathType type) {
  const std::optional<VertexId> memory = parts.memories[static_cast<std::size_t>(to.number)];
  std::optional<Route> route = memory ? via(parts, from.vertex, *memory, to.vertex) : std::nullopt;
  return made_of(Transport::host_staged, type, std::move(route), {from.vertex, to.vertex});
}

/// The socket through which ACS sends what passes switches alone.
std::optional<VertexId> root_of(const Topology::Parts& parts, VertexId card) {
  const Graph& graph = *parts.graph;
  std::optional<VertexId> root;
  std::size_t fewest = 0;
  for (Vertex vertex = 0; vertex < boost::num_vertices(graph); ++vertex) {
    const bool is_near = graph[vertex].socket == graph[index(card)].socket;
    if (graph[vertex].kind != DeviceKind::socket || !is_near) continue;
    const std::optional<Route> route = inside_server(parts, card, id_at<VertexId>(vertex));
    if (!route || (root && route->links.size() >= fewest)) continue;
    root = id_at<VertexId>(vertex);
    fewest = route->links.size();
  }
  return root;
}

/// A way inside switches; a way over a host bridge or a socket passes a root port anyhow.
bool turns_below_the_root(const Graph& graph, const Route& route) {
  Vertex here = index(route.from);
  for (const LinkId id : route.links) {
    const auto out = boost::make_iterator_range(boost::out_edges(here, graph));
    here =
        boost::target(*std::find_if(out.begin(), out.end(), [&](const Edge& e) { return graph[e].id == id; }), graph);
    if (graph[here].kind == DeviceKind::socket) return false;
  }
  return true;
}

/// The way that PCIe writes take between two devices, where ACS is minded.
std::optional<Route> pcie_way(const Topology::Parts& parts, FoundRoute found) {
  const bool redirected = parts.server.peer_to_peer.acs && turns_below_the_root(*parts.graph, found.route);
  const std::optional<VertexId> root = redirected ? root_of(parts, found.route.from) : std::nullopt;
  if (!root) return std::move(found.route);
  return via(parts, found.route.from, *root, found.route.to);
}

/// NCCL's levels have no NODE: they count two root complexes of one socket as PHB.
bool within_level(PathType type, PathType level) {
  return (type == PathType::node ? PathType::phb : type) <= level;
}

/// Whether two cards write to each other over NVLink or PCIe, by the type of their path; `level` is the server's.
bool is_direct(const Topology::Parts& parts, const CardInstance& from, const CardInstance& to, PathType type,
               PathType level) {
  if (type == PathType::nvlink) return parts.server.peer_to_peer.enabled;
  return within_level(type, level) && writes_to_peers(parts, from) && writes_to_peers(parts, to);
}

CardRoute within_server(const Topology::Parts& parts, const CardInstance& from, const CardInstance& to) {
  const std::pair ends(from.vertex, to.vertex);
  std::optional<FoundRoute> found = find_route(*parts.graph, from.vertex, to.vertex, Reach::server);
  if (!found) return made_of(Transport::peer_to_peer, PathType::disconnected, std::nullopt, ends);
  const PathType type = found->type;
  if (!is_direct(parts, from, to, type, peer_to_peer_level(parts.server))) return staged(parts, from, to, type);
  if (type == PathType::nvlink) return made_of(Transport::peer_to_peer, type, std::move(found->route), ends);
  return made_of(Transport::peer_to_peer, type, pcie_way(parts, *std::move(found)), ends);
}

/// Card to NIC or NIC to card: directly if the NIC is near enough or `access` says so, else through the card's host
/// memory.
std::optional<Route> to_nic(const Topology::Parts& parts, const CardInstance& card, std::pair<VertexId, VertexId> ends,
                            std::optional<NicAccess> access) {
  const auto [from, to] = ends;
  std::optional<FoundRoute> found = find_route(*parts.graph, from, to, Reach::server);
  if (!found) return std::nullopt;
  const bool near_enough = found->type <= PathType::pxb && writes_to_peers(parts, card);
  if (access ? *access == NicAccess::direct : near_enough) return pcie_way(parts, *std::move(found));
  const std::optional<VertexId> memory = parts.memories[static_cast<std::size_t>(card.number)];
  return memory ? via(parts, from, *memory, to) : std::nullopt;
}

/// One after the other; between two NICs of one server without a network the cable is missing.
Route with_gap(Route first, const Route& second) {
  first.links.insert(first.links.end(), second.links.begin(), second.links.end());
  first.to = second.to;
  first.latency += second.latency;
  return first;
}

CardRoute by_network(const Topology::Parts& parts, const CardInstance& from, const CardInstance& to,
                     const std::optional<TransferWay>& way) {
  const std::pair ends(from.vertex, to.vertex);
  const std::optional<VertexId> sender = parts.nics[static_cast<std::size_t>(from.number)];
  const std::optional<VertexId> receiver = parts.nics[static_cast<std::size_t>(to.number)];
  if (!sender || !receiver) return made_of(Transport::network, PathType::disconnected, std::nullopt, ends);
  const auto access = [&](NicAccess TransferWay::*end) { return way ? std::optional((*way).*end) : std::nullopt; };
  const std::optional<Route> out = to_nic(parts, from, {from.vertex, *sender}, access(&TransferWay::sender));
  const std::optional<FoundRoute> across = find_route(*parts.graph, *sender, *receiver, Reach::network);
  const std::optional<Route> in = to_nic(parts, to, {*receiver, to.vertex}, access(&TransferWay::receiver));
  if (out && in && !across && from.server == to.server) {
    return made_of(Transport::network, PathType::net, with_gap(*out, *in), ends);
  }
  if (!out || !across || !in) return made_of(Transport::network, PathType::disconnected, std::nullopt, ends);
  return made_of(Transport::network, PathType::net, join_routes(join_routes(*out, across->route), *in), ends);
}

}  // namespace

PathType peer_to_peer_level(const ServerSpec& server) {
  const PathType level = path_type_of(server.peer_to_peer.level).value_or(PathType::pxb);
  if (level != PathType::pxb || server.places.contains("peer_to_peer.level")) return level;
  const auto is_amd = [](const DeviceSpec& device) {
    return device.kind != DeviceKind::socket || device.cpu.starts_with("amd");
  };
  const bool amd = std::all_of(server.devices.begin(), server.devices.end(), is_amd);
  const auto cards = std::count_if(server.devices.begin(), server.devices.end(),
                                   [](const DeviceSpec& device) { return device.kind == DeviceKind::card; });
  return amd && cards <= 2 ? PathType::sys : level;
}

const CardInstance* first_unreached(const Topology::Parts& parts, const CardInstance& from) {
  const std::vector<std::optional<PathType>> types = path_types_from(*parts.graph, from.vertex, Reach::server);
  const PathType level = peer_to_peer_level(parts.server);
  for (const CardInstance& to : parts.cards) {
    if (to.server != from.server || to.vertex == from.vertex) continue;
    const std::optional<PathType> type = types[index(to.vertex)];
    if (type && is_direct(parts, from, to, *type, level)) continue;
    if (plan_card_route(parts, from, to).type == PathType::disconnected) return &to;
  }
  return nullptr;
}

CardRoute plan_card_route(const Topology::Parts& parts, const CardInstance& from, const CardInstance& to) {
  if (from.vertex == to.vertex) return {Transport::peer_to_peer, PathType::self, Route{from.vertex, to.vertex, {}, {}}};
  if (from.server == to.server) return within_server(parts, from, to);
  return by_network(parts, from, to, std::nullopt);
}

CardRoute plan_card_route(const Topology::Parts& parts, const CardInstance& from, const CardInstance& to,
                          const TransferWay& way) {
  if (way.transport == Transport::network) return by_network(parts, from, to, way);
  const std::pair ends(from.vertex, to.vertex);
  std::optional<FoundRoute> found = find_route(*parts.graph, from.vertex, to.vertex, Reach::server);
  if (!found) return made_of(way.transport, PathType::disconnected, std::nullopt, ends);
  if (way.transport == Transport::host_staged) return staged(parts, from, to, found->type);
  const PathType type = found->type;
  if (type == PathType::nvlink) return made_of(Transport::peer_to_peer, type, std::move(found->route), ends);
  return made_of(Transport::peer_to_peer, type, pcie_way(parts, *std::move(found)), ends);
}

}  // namespace takt
