// Building goes in passes over one server's specification:
//   resolve   names to positions, bridges to links                      (resolve.cpp)
//   stamp     the devices and links of each server, then the network    (GraphBuilder)
//   locate    sockets, host memories and NICs nearest to each card: searched in the first server, copied to the others
//   check     every card of a server reaches every other; bridges stay on one socket
// Nothing grows with the square of the number of cards of a cluster, only with that of one server.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "topology/card_route.hpp"
#include "topology/graph_builder.hpp"
#include "topology/network.hpp"
#include "topology/path_type.hpp"
#include "topology/resolve.hpp"
#include "topology/search.hpp"

namespace takt {
namespace {

/// Devices of the server file; a card's number counts cards in file order.
std::vector<Device> devices_of(const ServerSpec& server) {
  std::vector<Device> devices;
  std::int32_t next_card = 0;
  for (const DeviceSpec& spec : server.devices) {
    Device& device = devices.emplace_back();
    device.name = spec.name;
    device.kind = spec.kind;
    device.cpu = spec.cpu;
    if (spec.kind == DeviceKind::card) device.card = next_card++;
  }
  return devices;
}

class TopologyBuilder {
 public:
  TopologyBuilder(const ServerSpec& server, const std::map<std::string, CardSpec>& cards, LinkBasis basis)
      : server_(server), builder_(basis) {
    parts_.server = server;
    for (const DeviceSpec& device : server.devices) {
      const auto found = cards.find(device.card);
      if (device.kind == DeviceKind::card && found != cards.end()) parts_.card_specs.insert(*found);
    }
  }

  Result<Topology> build(const ResolvedServer& resolved, const ClusterSpec* cluster) {
    parts_.id = cluster ? cluster->id : server_.id;
    parts_.title = cluster ? cluster->title : server_.title;
    parts_.server_count = cluster ? static_cast<std::int32_t>(cluster->count) : 1;
    stamp(resolved, cluster);
    locate();
    check_reach();
    check_bridges(resolved);
    if (has_error(diagnostics_)) return diagnostics_;
    return {Topology(std::move(parts_)), std::move(diagnostics_)};
  }

 private:
  void stamp(const ResolvedServer& resolved, const ClusterSpec* cluster) {
    std::vector<std::vector<NetworkPort>> ports;
    for (std::int32_t server = 0; server < parts_.server_count; ++server) {
      const std::string prefix = parts_.server_count > 1 ? fmt::format("server{}/", server) : "";
      ports.push_back(stamp_server(resolved, server, prefix));
      for (NetworkPort& port : ports.back()) {
        if (cluster && cluster->nic_speed.count() > 0.0) port.speed = cluster->nic_speed;
      }
    }
    if (parts_.server_count > 1) add_network(builder_, *cluster, ports);
    parts_.graph = builder_.take_graph();
    parts_.resources = builder_.take_resources();
  }

  /// Returns the server's NICs with the speeds that the server file states.
  std::vector<NetworkPort> stamp_server(const ResolvedServer& resolved, std::int32_t server,
                                        const std::string& prefix) {
    std::vector<VertexId> vertices;
    std::vector<NetworkPort> ports;
    for (Device device : devices_of(server_)) {
      device.name = prefix + device.name;
      device.server = server;
      const DeviceSpec& spec = server_.devices[vertices.size()];
      vertices.push_back(builder_.add_device(std::move(device)));
      if (spec.kind == DeviceKind::nic) ports.push_back({vertices.back(), spec.nic_speed});
    }
    for (const ResolvedLink& link : resolved.links) {
      builder_.add_link({vertices[link.from], vertices[link.to], link.type, link.assumed, link.host_bridge});
    }
    for (std::size_t position = 0; position < vertices.size(); ++position) {
      if (server_.devices[position].kind == DeviceKind::card) add_card(vertices[position], position, server);
    }
    for (const ResolvedDomain& domain : resolved.domains) {
      NvlinkDomain& stamped = parts_.nvlink_domains.emplace_back();
      stamped.switched = domain.switched;
      for (const std::size_t card : domain.cards) stamped.cards.push_back(vertices[card]);
      std::sort(stamped.cards.begin(), stamped.cards.end());
    }
    return ports;
  }

  void add_card(VertexId vertex, std::size_t position, std::int32_t server) {
    Device& device = builder_.graph()[index(vertex)];
    const CardSpec& spec = parts_.card_specs.at(server_.devices[position].card);
    device.card = static_cast<std::int32_t>(parts_.cards.size());
    // What kernels reach of the memory is what they and copies share: copies at 50 and 67 GB/s, read and written, took
    // 2.4 and 3.1 % of what a triad reaches on an H200 (validation/overlap).
    const ResourceId memory = builder_.add_resource({device.name + " memory", ResourceKind::card_memory,
                                                     spec.memory_bandwidth.count() * spec.efficiency.memory});
    parts_.cards.push_back({vertex, device.card, server, memory, server_.devices[position].card});
  }

  /// Devices of one kind in the first server that are nearest to `from`, all of equal type, links and latency.
  std::vector<VertexId> nearest(VertexId from, DeviceKind kind) const {
    std::vector<VertexId> best;
    std::tuple<PathType, std::size_t, Duration> best_cost;
    for (std::size_t vertex = 0; vertex < server_.devices.size(); ++vertex) {
      if (server_.devices[vertex].kind != kind) continue;
      const std::optional<FoundRoute> found = find_route(*parts_.graph, from, id_at<VertexId>(vertex), Reach::server);
      if (!found) continue;
      const std::tuple cost(found->type, found->route.links.size(), found->route.latency);
      if (best.empty() || cost < best_cost) {
        best = {id_at<VertexId>(vertex)};
        best_cost = cost;
      } else if (cost == best_cost) {
        best.push_back(id_at<VertexId>(vertex));
      }
    }
    return best;
  }

  void locate() {
    locate_sockets();
    const std::size_t cards_per_server = parts_.cards.size() / static_cast<std::size_t>(parts_.server_count);
    std::vector<std::vector<VertexId>> near_nics;
    for (std::size_t card = 0; card < cards_per_server; ++card) {
      const std::vector<VertexId> memory = nearest(parts_.cards[card].vertex, DeviceKind::host_memory);
      parts_.memories.push_back(memory.empty() ? std::nullopt : std::optional(memory.front()));
      near_nics.push_back(nearest(parts_.cards[card].vertex, DeviceKind::nic));
      // Cards with the same NICs nearest take them in turn.
      const std::vector<VertexId>& mine = near_nics.back();
      const auto turn = static_cast<std::size_t>(std::count(near_nics.begin(), near_nics.end() - 1, mine));
      parts_.nics.push_back(mine.empty() ? std::nullopt : std::optional(mine[turn % mine.size()]));
    }
    const auto in_server = [&](std::optional<VertexId> local, std::size_t server) {
      return local ? std::optional(id_at<VertexId>(index(*local) + server * server_.devices.size())) : std::nullopt;
    };
    for (std::size_t card = cards_per_server; card < parts_.cards.size(); ++card) {
      const std::size_t local = card % cards_per_server;
      parts_.memories.push_back(in_server(parts_.memories[local], card / cards_per_server));
      parts_.nics.push_back(in_server(parts_.nics[local], card / cards_per_server));
    }
  }

  /// NUMA nodes: sockets that chip fabric joins are one node. Every device belongs to the node of its nearest socket.
  void locate_sockets() {
    Graph& graph = *parts_.graph;
    const std::vector<std::int32_t> nodes = numa_nodes();
    const std::int32_t nodes_per_server = nodes.empty() ? 0 : *std::max_element(nodes.begin(), nodes.end()) + 1;
    for (std::size_t local = 0; local < server_.devices.size(); ++local) {
      const std::vector<VertexId> sockets = server_.devices[local].kind == DeviceKind::socket
                                                ? std::vector{id_at<VertexId>(local)}
                                                : nearest(id_at<VertexId>(local), DeviceKind::socket);
      if (sockets.empty()) continue;
      for (std::int32_t server = 0; server < parts_.server_count; ++server) {
        graph[static_cast<std::size_t>(server) * server_.devices.size() + local].socket =
            nodes[index(sockets.front())] + server * nodes_per_server;
      }
    }
  }

  /// The NUMA node of each device of a server that is a socket, numbered in file order; -1 for other devices.
  std::vector<std::int32_t> numa_nodes() const {
    const Graph& graph = *parts_.graph;
    std::vector<std::int32_t> nodes(server_.devices.size(), -1);
    std::int32_t next = 0;
    for (std::size_t start = 0; start < nodes.size(); ++start) {
      if (server_.devices[start].kind != DeviceKind::socket || nodes[start] >= 0) continue;
      std::vector<std::size_t> open = {start};
      nodes[start] = next;
      while (!open.empty()) {
        const std::size_t socket = open.back();
        open.pop_back();
        for (const Edge& edge : boost::make_iterator_range(boost::out_edges(socket, graph))) {
          const std::size_t other = boost::target(edge, graph);
          const bool joined = graph[edge].kind == LinkKind::fabric && graph[other].kind == DeviceKind::socket;
          if (!joined || nodes[other] >= 0) continue;
          nodes[other] = next;
          open.push_back(other);
        }
      }
      ++next;
    }
    return nodes;
  }

  const SourcePlace& place_of_card(const CardInstance& card) const {
    return server_.devices[index(card.vertex) % server_.devices.size()].place;
  }

  void error(const SourcePlace& place, std::string message, std::string hint) {
    diagnostics_.push_back({Severity::error, place, std::move(message), std::move(hint)});
  }

  /// One error a card at most: the first other card that it cannot reach.
  void check_reach() {
    for (const CardInstance& from : parts_.cards) {
      if (from.server > 0) break;
      if (const CardInstance* unreached = first_unreached(parts_, from)) report_unreached(from, *unreached);
    }
    const auto remote = std::find_if(parts_.cards.begin(), parts_.cards.end(),
                                     [](const CardInstance& card) { return card.server == 1; });
    if (has_error(diagnostics_) || remote == parts_.cards.end()) return;
    for (const CardInstance& from : parts_.cards) {
      if (from.server > 0) break;
      if (plan_card_route(parts_, from, *remote).type != PathType::disconnected) continue;
      error(place_of_card(from), fmt::format("{} has no way to a NIC", graph_name(from)),
            "link a NIC of the server to a socket or to the card's switch");
    }
  }

  const std::string& graph_name(const CardInstance& card) const { return (*parts_.graph)[index(card.vertex)].name; }

  void report_unreached(const CardInstance& from, const CardInstance& to) {
    const std::optional<FoundRoute> path = find_route(*parts_.graph, from.vertex, to.vertex, Reach::server);
    if (!path) {
      error(place_of_card(from), fmt::format("{} has no path to {}", graph_name(from), graph_name(to)),
            "add the link that joins the card to a switch, a socket or a bridge");
      return;
    }
    error(place_of_card(from),
          fmt::format("{} reaches {} by {} and would exchange through host memory, but no host memory is stated",
                      graph_name(from), graph_name(to), name_of(path->type)),
          "state memory_bandwidth of the sockets, or raise peer_to_peer.level");
  }

  void check_bridges(const ResolvedServer& resolved) {
    for (const ResolvedDomain& domain : resolved.domains) {
      if (domain.switched) continue;
      const auto socket_of = [&](std::size_t card) { return (*parts_.graph)[card].socket; };
      const std::size_t first = domain.cards.front();
      const auto other = std::find_if(domain.cards.begin(), domain.cards.end(),
                                      [&](std::size_t card) { return socket_of(card) != socket_of(first); });
      if (other == domain.cards.end()) continue;
      diagnostics_.push_back({Severity::warning, domain.place,
                              fmt::format("a bridge crosses sockets: {} hangs on NUMA node {}, {} on {}",
                                          server_.devices[first].name, socket_of(first), server_.devices[*other].name,
                                          socket_of(*other)),
                              "vendors advise to keep the cards of a bridge on one socket"});
    }
  }

  const ServerSpec& server_;
  GraphBuilder builder_;
  Topology::Parts parts_;
  Diagnostics diagnostics_;
};

Diagnostics cluster_errors(const ClusterSpec& cluster, const ServerSpec& server) {
  Diagnostics errors;
  const auto error_at = [&](const std::string& key, std::string message, std::string hint) {
    const auto stated = cluster.places.find(key);
    const SourcePlace place = stated == cluster.places.end() ? SourcePlace{cluster.file, 0, 0, ""} : stated->second;
    errors.push_back({Severity::error, place, std::move(message), std::move(hint)});
  };
  if (cluster.count < 1) error_at("count", fmt::format("a cluster of {} servers", cluster.count), "");
  if (cluster.count <= 1) return errors;
  const auto is_nic = [](const DeviceSpec& device) { return device.kind == DeviceKind::nic; };
  const bool has_nic = std::any_of(server.devices.begin(), server.devices.end(), is_nic);
  const bool without_speed = std::any_of(server.devices.begin(), server.devices.end(), [&](const DeviceSpec& device) {
    return is_nic(device) && device.nic_speed.count() <= 0.0;
  });
  if (!has_nic) error_at("server", fmt::format("{} has no NIC to join the servers with", server.id), "");
  if (cluster.nic_speed.count() <= 0.0 && without_speed) {
    error_at("nic_speed", fmt::format("neither the cluster nor {} states the speed of the NICs", server.id),
             "add e.g. nic_speed = \"400 Gb/s\"");
  }
  if (cluster.oversubscription <= 0.0) error_at("oversubscription", "oversubscription is positive", "1.0 = none");
  return errors;
}

Result<Topology> build(const ServerSpec& server, const ClusterSpec* cluster,
                       const std::map<std::string, CardSpec>& cards, LinkBasis basis) {
  Result<ResolvedServer> resolved = resolve_server(server, cards);
  if (!resolved) return resolved.diagnostics();
  const bool has_card = std::any_of(server.devices.begin(), server.devices.end(),
                                    [](const DeviceSpec& device) { return device.kind == DeviceKind::card; });
  if (!has_card) return Diagnostic{Severity::error, {server.file, 0, 0, ""}, "the server has no card", ""};
  return TopologyBuilder(server, cards, basis).build(*resolved, cluster);
}

}  // namespace

Result<Topology> build_topology(const ServerSpec& server, const std::map<std::string, CardSpec>& cards,
                                LinkBasis basis) {
  return build(server, nullptr, cards, basis);
}

Result<Topology> build_topology(const ClusterSpec& cluster, const ServerSpec& server,
                                const std::map<std::string, CardSpec>& cards, LinkBasis basis) {
  Diagnostics errors = cluster_errors(cluster, server);
  if (has_error(errors)) return errors;
  return build(server, &cluster, cards, basis);
}

}  // namespace takt
