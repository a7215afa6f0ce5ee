// A path's type is the worst type of its links (semantics N10), its cost the number of links and then their latency.
// "Least type, then least cost" cannot be one Dijkstra: a path that is worse so far in type may be the better prefix
// once both cross a link of that type. So the search runs once a type, from the best to the worst, over the links of
// at most that type, and stops at the first that arrives. Within one type the cost is additive and Dijkstra exact.
#include "topology/search.hpp"

#include <algorithm>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <compare>
#include <limits>
#include <vector>

#include "topology/path_type.hpp"

namespace takt {
namespace {

struct Cost {
  std::int64_t links = 0;
  std::int64_t latency = 0;  // picoseconds

  auto operator<=>(const Cost&) const = default;
  friend Cost operator+(Cost a, Cost b) { return {a.links + b.links, a.latency + b.latency}; }
};

constexpr Cost unreached{std::numeric_limits<std::int64_t>::max() / 2, 0};

bool is_way_station(DeviceKind kind, Reach reach) {
  switch (kind) {
    case DeviceKind::nvswitch:
    case DeviceKind::pcie_switch:
    case DeviceKind::socket:
    case DeviceKind::network_switch: return true;
    case DeviceKind::nic: return reach == Reach::everywhere;
    case DeviceKind::card:
    case DeviceKind::host_memory:
    case DeviceKind::nvme: return false;
  }
  return false;
}

/// The links a search may use: of a type no worse than `worst`, and never on through a card or a memory.
struct Passable {
  const Graph* graph = nullptr;
  Vertex from{};
  Reach reach = Reach::server;
  PathType worst = PathType::net;

  bool operator()(const Edge& edge) const {
    const Vertex source = boost::source(edge, *graph);
    const Device& device = (*graph)[source];
    const Link& link = (*graph)[edge];
    const bool is_network = link.kind == LinkKind::network;
    if (reach == Reach::server && is_network) return false;
    if (reach == Reach::network && !is_network) return false;
    if (source != from && !is_way_station(device.kind, reach)) return false;
    return link_path_type(link.kind, device.kind, (*graph)[boost::target(edge, *graph)].kind) <= worst;
  }
};

/// Thrown by the visitor to leave the search, as Boost.Graph provides no other way.
struct Arrived {};

/// Remembers the link each device was reached by; among links of equal cost the one with the lowest id, so that the
/// answer does not depend on the order of Boost's queue.
class RouteVisitor : public boost::default_dijkstra_visitor {
 public:
  RouteVisitor(Vertex target, const std::vector<Cost>& distance, std::vector<Edge>& incoming)
      : target_(target), distance_(&distance), incoming_(&incoming) {}

  template <class G>
  void examine_vertex(Vertex vertex, const G&) const {
    if (vertex == target_) throw Arrived{};
  }

  template <class G>
  void edge_relaxed(const Edge& edge, const G& graph) const {
    (*incoming_)[boost::target(edge, graph)] = edge;
  }

  template <class G>
  void edge_not_relaxed(const Edge& edge, const G& graph) const {
    const Vertex end = boost::target(edge, graph);
    const Cost cost = (*distance_)[boost::source(edge, graph)] + Cost{1, graph[edge].latency.count()};
    if (cost == (*distance_)[end] && graph[edge].id < graph[(*incoming_)[end]].id) (*incoming_)[end] = edge;
  }

 private:
  Vertex target_;
  const std::vector<Cost>* distance_;
  std::vector<Edge>* incoming_;
};

Route trace_back(const Graph& graph, Vertex from, Vertex to, const std::vector<Edge>& incoming) {
  Route route{id_at<VertexId>(from), id_at<VertexId>(to), {}, Duration{}};
  for (Vertex vertex = to; vertex != from; vertex = boost::source(incoming[vertex], graph)) {
    const Link& link = graph[incoming[vertex]];
    route.links.push_back(link.id);
    route.latency += link.latency;
  }
  std::reverse(route.links.begin(), route.links.end());
  return route;
}

std::optional<Route> cheapest_route(const Graph& graph, Vertex from, Vertex to, Reach reach, PathType worst) {
  const boost::filtered_graph passable(graph, Passable{&graph, from, reach, worst});
  const std::size_t count = boost::num_vertices(graph);
  std::vector<Cost> distance(count, unreached);
  std::vector<Vertex> predecessor(count);
  std::vector<Edge> incoming(count);
  const auto index_map = boost::get(boost::vertex_index, graph);
  const auto cost_of = [&graph](const Edge& edge) { return Cost{1, graph[edge].latency.count()}; };
  try {
    boost::dijkstra_shortest_paths(
        passable, from,
        boost::predecessor_map(boost::make_iterator_property_map(predecessor.begin(), index_map))
            .distance_map(boost::make_iterator_property_map(distance.begin(), index_map))
            .weight_map(boost::make_function_property_map<Edge>(cost_of))
            .distance_compare(std::less<>{})
            .distance_combine(std::plus<>{})
            .distance_inf(unreached)
            .distance_zero(Cost{})
            .visitor(RouteVisitor(to, distance, incoming)));
  } catch (const Arrived&) {
    return trace_back(graph, from, to, incoming);
  }
  return std::nullopt;
}

/// Whether the route enters a socket by one host bridge and leaves it by another.
bool changes_host_bridge(const Graph& graph, const Route& route) {
  Vertex here = index(route.from);
  std::int64_t entered_by = 0;
  for (const LinkId id : route.links) {
    const auto out = boost::make_iterator_range(boost::out_edges(here, graph));
    const Edge edge = *std::find_if(out.begin(), out.end(), [&](const Edge& e) { return graph[e].id == id; });
    const std::int64_t bridge = graph[edge].host_bridge;
    if (graph[here].kind == DeviceKind::socket && entered_by > 0 && bridge > 0 && bridge != entered_by) return true;
    entered_by = bridge;
    here = boost::target(edge, graph);
  }
  return false;
}

}  // namespace

std::optional<FoundRoute> find_route(const Graph& graph, VertexId from, VertexId to, Reach reach, PathType worst) {
  if (from == to) return FoundRoute{PathType::self, Route{from, to, {}, Duration{}}};
  for (int level = static_cast<int>(PathType::nvlink); level <= static_cast<int>(worst); ++level) {
    const auto type = static_cast<PathType>(level);
    std::optional<Route> route = cheapest_route(graph, index(from), index(to), reach, type);
    if (!route) continue;
    const bool far_side = type == PathType::phb && changes_host_bridge(graph, *route);
    return FoundRoute{far_side ? PathType::node : type, *std::move(route)};
  }
  return std::nullopt;
}

std::vector<std::optional<PathType>> path_types_from(const Graph& graph, VertexId from, Reach reach) {
  std::vector<std::optional<PathType>> types(boost::num_vertices(graph));
  for (int level = static_cast<int>(PathType::nvlink); level <= static_cast<int>(PathType::net); ++level) {
    const auto type = static_cast<PathType>(level);
    const Passable passable{&graph, index(from), reach, type};
    std::vector<bool> seen(types.size(), false);
    std::vector<Vertex> reached = {index(from)};
    seen[index(from)] = true;
    for (std::size_t head = 0; head < reached.size(); ++head) {
      for (const Edge& edge : boost::make_iterator_range(boost::out_edges(reached[head], graph))) {
        const Vertex end = boost::target(edge, graph);
        if (seen[end] || !passable(edge)) continue;
        seen[end] = true;
        reached.push_back(end);
        if (!types[end]) types[end] = type;
      }
    }
  }
  types[index(from)] = PathType::self;
  return types;
}

Route join_routes(const Route& first, const Route& second) {
  expects(first.to == second.from, "joined routes meet at a device");
  Route joined{first.from, second.to, first.links, first.latency + second.latency};
  joined.links.insert(joined.links.end(), second.links.begin(), second.links.end());
  return joined;
}

}  // namespace takt
