// `takt topo show`: one server on one screen. A cluster shows its first server, and then the network.
#include "report/format.hpp"
#include "report/report.hpp"
#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "base/text.hpp"
#include "topology/path_type.hpp"

namespace takt {
namespace {

constexpr std::size_t indent = 2;
constexpr double giga = 1e9;

/// The cards, sockets and other devices of the first server.
class TopologyTable {
 public:
  explicit TopologyTable(const Topology& topology) : topology_(topology), server_(topology.server_spec()) {
    for (const CardInstance& card : topology.cards()) {
      if (card.server == 0) cards_.push_back(card);
    }
    for (std::size_t id = 0; id < topology.link_count(); ++id) {
      const VertexId source = topology.link_source(id_at<LinkId>(id));
      if (topology.device(source).server == 0) links_of_[source].push_back(id_at<LinkId>(id));
    }
  }

  std::string text() const {
    std::string text = topology_.title() + '\n' + summary();
    if (cards_.empty()) return text;
    text += '\n' + numa_table();
    if (cards_.size() > 1) text += '\n' + path_types() + '\n' + bandwidths();
    text += nvlink_domains() + network() + '\n' + link_kinds() + assumptions();
    return text;
  }

 private:
  /// A device's name without the server in front.
  std::string short_name(VertexId vertex) const {
    const std::string& name = topology_.device(vertex).name;
    const std::size_t slash = name.find('/');
    return slash == std::string::npos ? name : name.substr(slash + 1);
  }

  std::string summary() const {
    std::map<std::string, std::size_t> models;
    for (const CardInstance& card : cards_) ++models[card.spec];
    std::string text;
    for (const CardInstance& card : cards_) {
      const auto found = models.find(card.spec);
      if (found == models.end()) continue;
      const CardSpec& spec = topology_.card_spec(card);
      text += fmt::format("{}{}x {} ({}, {})", text.empty() ? "" : "; ", found->second, spec.name,
                          format_size(spec.memory_nominal), format_bandwidth(spec.memory_bandwidth));
      models.erase(found);
    }
    if (topology_.server_count() > 1) text += fmt::format(" in each of {} servers", topology_.server_count());
    const PeerToPeerSpec& peers = server_.peer_to_peer;
    const std::string state = peers.enabled ? "peer-to-peer up to " + peers.level : "peer-to-peer off";
    text += fmt::format("; {}, IOMMU {}, ACS {}", state, peers.iommu ? "on" : "off", peers.acs ? "on" : "off");
    return wrap(text, screen_width, indent);
  }

  /// A row a socket: its memory and what hangs on it, switches with what is behind them.
  std::string numa_table() const {
    Table table({{"NUMA", Align::right}, {"socket"}, {"CPU"}, {"memory", Align::right}, {"GB/s", Align::right},
                 {"devices"}});
    for (std::size_t position = 0; position < server_.devices.size(); ++position) {
      const DeviceSpec& socket = server_.devices[position];
      if (socket.kind != DeviceKind::socket) continue;
      const VertexId vertex = id_at<VertexId>(position);
      table.row({std::to_string(topology_.device(vertex).socket), socket.name, socket.cpu,
                 socket.host_memory.count() > 0 ? format_size(socket.host_memory) : "", memory_rate(vertex),
                 devices_behind(vertex, vertex)});
    }
    return table.empty() ? "" : table.text(indent);
  }

  const std::vector<LinkId>& links_of(VertexId vertex) const {
    static const std::vector<LinkId> none;
    const auto found = links_of_.find(vertex);
    return found == links_of_.end() ? none : found->second;
  }

  std::string memory_rate(VertexId socket) const {
    for (const LinkId id : links_of(socket)) {
      const Link& link = topology_.link(id);
      if (link.kind == LinkKind::memory) return format_number(link.nominal.count() / giga);
    }
    return "";
  }

  /// "sw0[gpu0 gpu1 nic0] gpu2": the PCIe devices reached from `vertex`, not going back to `parent`.
  std::string devices_behind(VertexId vertex, VertexId parent) const {
    std::vector<std::string> names;
    for (const LinkId id : links_of(vertex)) {
      const VertexId child = topology_.link_target(id);
      const DeviceKind kind = topology_.device(child).kind;
      if (topology_.link(id).kind != LinkKind::pcie || child == parent || kind == DeviceKind::socket) continue;
      std::string name = short_name(child);
      if (kind == DeviceKind::pcie_switch) name += '[' + devices_behind(child, vertex) + ']';
      names.push_back(std::move(name));
    }
    return join(names, " ");
  }

  Table matrix(const std::string& corner) const {
    std::vector<Column> columns = {{corner}};
    for (const CardInstance& card : cards_) columns.push_back({short_name(card.vertex), Align::right});
    return Table(std::move(columns));
  }

  std::string path_types() const {
    Table table = matrix("path");
    for (const CardInstance& from : cards_) {
      std::vector<std::string> cells = {short_name(from.vertex)};
      for (const CardInstance& to : cards_) cells.push_back(path_type_label(topology_, from.vertex, to.vertex));
      table.row(std::move(cells));
    }
    return table.text(indent);
  }

  /// What one transfer alone reaches over a route: a link that it crosses twice gives half.
  double rate(const Route& route, Bandwidth Link::*figure) const {
    double least = std::numeric_limits<double>::infinity();
    for (const LinkId id : route.links) {
      const Link& link = topology_.link(id);
      const bool is_memory = link.kind == LinkKind::memory;  // written and read over one bus
      const auto crossings = std::count_if(route.links.begin(), route.links.end(), [&](LinkId other) {
        return other == id || (is_memory && other == link.reverse);
      });
      least = std::min(least, (link.*figure).count() / giga / static_cast<double>(crossings));
    }
    return least;
  }

  std::string both_rates(const Route& route) const {
    return fmt::format("{:.0f}/{:.0f}", rate(route, &Link::nominal), rate(route, &Link::effective));
  }

  std::string bandwidths() const {
    Table table = matrix("GB/s");
    bool any_staged = false;
    for (const CardInstance& from : cards_) {
      std::vector<std::string> cells = {short_name(from.vertex)};
      for (const CardInstance& to : cards_) {
        const CardRoute& card_route = topology_.card_route(from.vertex, to.vertex);
        const bool staged = card_route.transport == Transport::host_staged;
        any_staged = any_staged || staged;
        cells.push_back(from.vertex == to.vertex ? "-" : both_rates(card_route.route) + (staged ? "*" : ""));
      }
      table.row(std::move(cells));
    }
    return table.text(indent) + "  one transfer from row to column, nominal/measured" +
           (any_staged ? "; * through host memory" : "") + '\n';
  }

  std::string nvlink_domains() const {
    std::string text;
    for (const NvlinkDomain& domain : topology_.nvlink_domains()) {
      if (topology_.device(domain.cards.front()).server > 0 || domain.cards.size() < 2) continue;
      std::vector<std::string> names;
      for (const VertexId card : domain.cards) names.push_back(short_name(card));
      const Route& pair = topology_.card_route(domain.cards[0], domain.cards[1]).route;
      text += fmt::format("  {} over {}: {} GB/s a pair and direction\n", domain.switched ? "NVSwitch" : "bridge",
                          join(names, " "), both_rates(pair));
    }
    return text.empty() ? "" : '\n' + text;
  }

  std::string network() const {
    if (topology_.server_count() < 2) return "";
    const auto remote = [&](std::size_t number) -> const CardInstance& { return topology_.cards()[number]; };
    std::string text = "\n";
    const auto line = [&](const std::string& what, const CardInstance& to) {
      const CardRoute& card_route = topology_.card_route(cards_.front().vertex, to.vertex);
      std::vector<std::string> stops;
      for (const LinkId link : card_route.route.links) stops.push_back(short_name(topology_.link_target(link)));
      text += wrap(fmt::format("{}: {} GB/s, {} ({} {})", what, both_rates(card_route.route),
                               format_time(card_route.route.latency), short_name(cards_.front().vertex),
                               join(stops, " ")), screen_width, indent);
    };
    line("to the same card of the next server", remote(cards_.size()));
    if (cards_.size() > 1) line("to the last card of the last server", topology_.cards().back());
    return text;
  }

  struct Kind {
    const Link* link = nullptr;
    std::size_t count = 0;
  };

  /// The kinds of links of the first server, in order of appearance.
  std::vector<std::pair<std::string, Kind>> kinds() const {
    std::vector<std::pair<std::string, Kind>> kinds;
    for (std::size_t id = 0; id < topology_.link_count(); id += 2) {
      const Link& link = topology_.link(id_at<LinkId>(id));
      if (topology_.device(topology_.link_source(link.id)).server != 0) continue;
      const std::string name = fmt::format("{}{}", link.type, link.assumed ? " (assumed)" : "");
      auto found = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) {
        return kind.first == name && kind.second.link->nominal == link.nominal &&
               kind.second.link->effective == link.effective;
      });
      if (found == kinds.end()) found = kinds.insert(kinds.end(), {name, {&link, 0}});
      ++found->second.count;
    }
    return kinds;
  }

  std::string link_kinds() const {
    Table table({{"links, GB/s"}, {"count", Align::right}, {"nominal", Align::right}, {"measured", Align::right},
                 {"sum", Align::right}, {"latency", Align::right}, {"source"}});
    constexpr std::size_t source_width = 44;
    for (const auto& [name, kind] : kinds()) {
      const Link& link = *kind.link;
      const std::string both = link.both_directions
                                   ? format_number(topology_.resources()[index(*link.both_directions)].capacity / giga)
                                   : "";
      table.row({name, std::to_string(kind.count), format_number(link.nominal.count() / giga),
                 format_number(link.effective.count() / giga), both, format_time(link.latency),
                 shorten(link.source, source_width)});
    }
    return table.text(indent) + "  a direction; sum = cap of both directions together; sources in full: links.toml\n";
  }

  std::string assumptions() const {
    std::string text;
    const auto paragraph = [&](const std::string& words) { text += wrap(words, screen_width, indent); };
    if (!server_.assumed.empty()) paragraph("assumed: " + join(server_.assumed, "; "));
    if (!server_.source.empty()) paragraph("source: " + server_.source);
    if (!server_.confidence.empty()) paragraph("confidence: " + server_.confidence);
    return text.empty() ? "" : '\n' + text;
  }

  const Topology& topology_;
  const ServerSpec& server_;
  std::vector<CardInstance> cards_;
  std::map<VertexId, std::vector<LinkId>> links_of_;  // outgoing, in the order of the file
};

}  // namespace

std::string topology_table(const Topology& topology) { return TopologyTable(topology).text(); }

}  // namespace takt
