// What an engineer would remark on when handed the server's block diagram.
#include "base/text.hpp"
#include "topology/graph.hpp"
#include "topology/path_type.hpp"
#include "topology/topology.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

namespace takt {
namespace {

class Findings {
 public:
  explicit Findings(const Topology& topology) : topology_(topology), server_(topology.server_spec()) {
    for (const CardInstance& card : topology.cards()) {
      if (card.server == 0) cards_.push_back(card);
    }
  }

  Diagnostics run() {
    narrow_cards();
    shared_uplinks();
    far_nics();
    ring_crosses_sockets();
    split_bridges();
    return std::move(diagnostics_);
  }

 private:
  const Device& device(VertexId vertex) const { return topology_.device(vertex); }

  void remark(Severity severity, const SourcePlace& place, std::string message, std::string hint) {
    diagnostics_.push_back({severity, place, std::move(message), std::move(hint)});
  }

  const SourcePlace& place_of_device(VertexId vertex) const {
    return server_.devices[index(vertex) % server_.devices.size()].place;
  }

  const SourcePlace& place_of_link(LinkId link) const {
    const std::size_t physical = index(link) / 2;
    return physical < server_.links.size() ? server_.links[physical].place : whole_file_;
  }

  /// Cards on fewer PCIe lanes than they have.
  void narrow_cards() {
    for (const CardInstance& card : cards_) {
      const CardSpec& spec = topology_.card_spec(card);
      const Graph& graph = GraphOf::topology(topology_);
      for (const Edge& edge : boost::make_iterator_range(boost::out_edges(index(card.vertex), graph))) {
        const Link& link = GraphOf::topology(topology_)[edge];
        if (link.kind != LinkKind::pcie) continue;
        if (link.lanes >= spec.pcie_lanes && link.generation >= spec.pcie_generation) continue;
        remark(Severity::warning, place_of_link(link.id),
               fmt::format("{} can use PCIe Gen{} x{} but is linked by Gen{} x{}", device(card.vertex).name,
                           spec.pcie_generation, spec.pcie_lanes, link.generation, link.lanes),
               "collectives run at the pace of the slowest link");
      }
    }
  }

  /// Links from a switch towards a socket that carry several cards' way to host memory.
  void shared_uplinks() {
    std::map<LinkId, std::vector<std::string>> cards_of;
    for (const CardInstance& card : cards_) {
      const std::optional<Route> up = topology_.to_host_memory(card.vertex);
      if (!up) continue;
      for (const LinkId link : up->links) {
        if (topology_.link(link).kind == LinkKind::pcie) cards_of[link].push_back(device(card.vertex).name);
      }
    }
    constexpr std::size_t usual = 2;  // reference designs: one x16 uplink for at most two cards
    for (const auto& [link, names] : cards_of) {
      if (names.size() <= usual) continue;
      remark(Severity::warning, place_of_link(link),
             fmt::format("{} cards ({}) share the uplink {} of {:.1f} GB/s", names.size(), join(names, ", "),
                         topology_.resources()[index(topology_.link(link).resource)].name,
                         topology_.link(link).capacity.count() / 1e9),
             "reference designs give at most two cards one x16 uplink");
    }
  }

  /// Cards whose nearest NIC is behind the socket link.
  void far_nics() {
    std::vector<VertexId> nics;
    for (std::size_t local = 0; local < server_.devices.size(); ++local) {
      if (server_.devices[local].kind == DeviceKind::nic) nics.push_back(id_at<VertexId>(local));
    }
    if (nics.empty()) return;
    for (const CardInstance& card : cards_) {
      const bool near = std::any_of(nics.begin(), nics.end(),
                                    [&](VertexId nic) { return device(nic).socket == device(card.vertex).socket; });
      if (near) continue;
      remark(Severity::warning, place_of_device(card.vertex),
             fmt::format("{} is on NUMA node {}, but no NIC is: its network traffic crosses the socket link",
                         device(card.vertex).name, device(card.vertex).socket),
             "put a NIC on each socket, best one under each switch");
    }
  }

  /// The narrowest link between two cards.
  LinkId bottleneck(const Route& route) const {
    return *std::min_element(route.links.begin(), route.links.end(), [&](LinkId a, LinkId b) {
      return topology_.link(a).capacity < topology_.link(b).capacity;
    });
  }

  /// A ring over all cards crosses between sockets somewhere, at best over the pair with the widest way.
  void ring_crosses_sockets() {
    if (one_switched_domain()) return;
    std::optional<LinkId> best;
    for (const CardInstance& from : cards_) {
      for (const CardInstance& to : cards_) {
        if (device(from.vertex).socket == device(to.vertex).socket) continue;
        const CardRoute& route = topology_.card_route(from.vertex, to.vertex);
        if (route.type == PathType::nvlink) return;
        const LinkId narrowest = bottleneck(route.route);
        if (!best || topology_.link(narrowest).capacity > topology_.link(*best).capacity) best = narrowest;
      }
    }
    if (!best) return;
    const Link& link = topology_.link(*best);
    remark(Severity::note, whole_file_,
           fmt::format("a ring over all {} cards must cross sockets twice: at most {:.1f} GB/s a card ({})",
                       cards_.size(), link.capacity.count() / 1e9, topology_.resources()[index(link.resource)].name),
           "groups within a socket or bridge avoid it");
  }

  bool one_switched_domain() const {
    return std::any_of(topology_.nvlink_domains().begin(), topology_.nvlink_domains().end(),
                       [&](const NvlinkDomain& domain) { return domain.cards.size() == cards_.size(); });
  }

  void split_bridges() {
    for (const NvlinkDomain& domain : topology_.nvlink_domains()) {
      if (domain.switched || device(domain.cards.front()).server > 0) continue;
      std::vector<std::string> names;
      std::set<std::int32_t> sockets;
      for (const VertexId card : domain.cards) {
        names.push_back(device(card).name);
        sockets.insert(device(card).socket);
      }
      if (sockets.size() < 2) continue;
      remark(Severity::warning, place_of_device(domain.cards.front()),
             fmt::format("the bridge over {} crosses sockets", join(names, ", ")),
             "vendors advise to keep the cards of a bridge on one socket");
    }
  }

  const Topology& topology_;
  const ServerSpec& server_;
  SourcePlace whole_file_{server_.file, 0, 0, ""};
  std::vector<CardInstance> cards_;
  Diagnostics diagnostics_;
};

}  // namespace

Diagnostics check_topology(const Topology& topology) {
  return Findings(topology).run();
}

}  // namespace takt
