// Each setting is a small edit of the server's specification, made before the graph is built: routes, capacities and
// NCCL's view of the machine then follow from the one specification.
#include "topology/platform_state.hpp"

#include "base/text.hpp"
#include "config/quantity.hpp"
#include "topology/pcie_tree.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace takt {
namespace {

bool is_pcie(const LinkSpec& link) {
  return link.type.kind == LinkKind::pcie;
}

class PlatformEdit {
 public:
  PlatformEdit(ServerSpec server, const PlatformState& state, const PlatformParts& parts)
      : server_(std::move(server)), state_(state), parts_(parts) {}

  Result<ServerSpec> run() {
    edit_peers();
    edit_nics();
    edit_pcie();
    edit_trained_down();
    edit_sockets();
    edit_host_memory();
    if (has_error(diagnostics_)) return diagnostics_;
    return {std::move(server_), std::move(diagnostics_)};
  }

 private:
  void say(Severity severity, const std::string& key, std::string message, std::string hint) {
    const auto found = state_.places.find(key);
    const SourcePlace place = found == state_.places.end() ? SourcePlace{} : found->second;
    diagnostics_.push_back({severity, place, std::move(message), std::move(hint)});
  }

  void error(const std::string& key, std::string message, std::string hint = "") {
    say(Severity::error, "platform." + key, std::move(message), std::move(hint));
  }

  const DeviceSpec& device(const std::string& name) const {
    return *std::find_if(server_.devices.begin(), server_.devices.end(),
                         [&](const DeviceSpec& device) { return device.name == name; });
  }

  bool has_device(DeviceKind kind) const {
    return std::any_of(server_.devices.begin(), server_.devices.end(),
                       [&](const DeviceSpec& device) { return device.kind == kind; });
  }

  std::vector<std::string> names_of(DeviceKind kind) const {
    std::vector<std::string> names;
    for (const DeviceSpec& device : server_.devices) {
      if (device.kind == kind) names.push_back(device.name);
    }
    return names;
  }

  /// The card at an end of the link, if there is one.
  const CardSpec* card_at(const LinkSpec& link) const {
    for (const std::string& end : {link.from, link.to}) {
      const DeviceSpec& at = device(end);
      const auto found = parts_.cards.find(at.card);
      if (at.kind == DeviceKind::card && found != parts_.cards.end()) return &found->second;
    }
    return nullptr;
  }

  bool has_nvlink() const {
    return !server_.bridges.empty() ||
           std::any_of(server_.links.begin(), server_.links.end(), [](const LinkSpec& link) {
             return link.type.kind == LinkKind::nvlink || link.type.kind == LinkKind::nvswitch;
           });
  }

  void edit_peers() {
    const PlatformPeers& peers = state_.settings.peer_to_peer;
    PeerToPeerSpec& mine = server_.peer_to_peer;
    mine.enabled = peers.enabled.value_or(mine.enabled);
    mine.iommu = peers.iommu.value_or(mine.iommu);
    mine.acs = peers.acs.value_or(mine.acs);
    if (peers.level) {
      mine.level = *peers.level;
      const auto place = state_.places.find("platform.peer_to_peer.level");
      server_.places["peer_to_peer.level"] = place == state_.places.end() ? SourcePlace{} : place->second;
    }
    if (peers.enabled == true && mine.iommu && !has_nvlink()) {
      error("peer_to_peer.enabled",
            fmt::format("peer-to-peer cannot be on: {} has no NVLink, and its IOMMU translates", server_.id),
            "set platform.peer_to_peer.iommu = false");
    }
    if (peers.acs == true && !cards_share_a_switch()) {
      say(Severity::warning, "platform.peer_to_peer.acs",
          fmt::format("acs has no effect: no two cards of {} share a PCIe switch", server_.id), "");
    }
  }

  bool cards_share_a_switch() const {
    const PcieTree tree(server_);
    std::map<std::string, int> cards_below;
    for (const std::string& card : names_of(DeviceKind::card)) {
      for (const std::string& above : tree.switches_above(card)) {
        if (++cards_below[above] > 1) return true;
      }
    }
    return false;
  }

  /// The kind of PCIe link of this generation and width, as links.toml has it or scaled from x16.
  std::optional<LinkType> pcie_type(std::int64_t generation, std::int64_t lanes) const {
    constexpr std::int64_t full_width = 16;
    const auto exact = parts_.link_types.find(fmt::format("pcie{}-x{}", generation, lanes));
    if (exact != parts_.link_types.end()) return exact->second;
    const auto full = parts_.link_types.find(fmt::format("pcie{}-x{}", generation, full_width));
    if (full == parts_.link_types.end()) return std::nullopt;
    LinkType type = full->second;
    const double share = static_cast<double>(lanes) / static_cast<double>(full_width);
    type.lanes = lanes;
    type.nominal = type.nominal * share;
    type.effective = type.effective * share;
    if (type.both_directions) type.both_directions = *type.both_directions * share;
    type.source = fmt::format("{} of 16 lanes of {}: {}", lanes, type.id, type.source);
    return type;
  }

  void retrain(LinkSpec& link, std::int64_t generation, std::int64_t lanes, const std::string& key) {
    if (link.type.generation == generation && link.type.lanes == lanes) return;
    const std::optional<LinkType> type = pcie_type(generation, lanes);
    if (!type) return error(key, fmt::format("topologies/links.toml has no pcie{}-x16", generation));
    const LinkType before = std::exchange(link.type, *type);
    if (before.nominal < type->nominal) return;
    // What the file measured on this link holds where it is less than what the slower kind reaches.
    if (before.effective.count() > 0.0) link.type.effective = std::min(before.effective, link.type.effective);
    if (before.both_directions && link.type.both_directions) {
      link.type.both_directions = std::min(*before.both_directions, *link.type.both_directions);
    }
  }

  void edit_pcie() {
    const PlatformPcie& pcie = state_.settings.pcie;
    for (LinkSpec& link : server_.links) {
      if (!is_pcie(link)) continue;
      const CardSpec* card = card_at(link);
      if (pcie.generation) {
        const std::int64_t own = card ? card->pcie_generation : *pcie.generation;
        retrain(link, std::min(own, *pcie.generation), link.type.lanes, "pcie.generation");
      }
      if (!pcie.lanes || !card) continue;
      if (*pcie.lanes > card->pcie_lanes) {
        return error("pcie.lanes",
                     fmt::format("slots of {} lanes, but {} has {}", *pcie.lanes, card->name, card->pcie_lanes),
                     fmt::format("use at most {}", card->pcie_lanes));
      }
      retrain(link, link.type.generation, *pcie.lanes, "pcie.lanes");
    }
  }

  void edit_trained_down() {
    const TrainedDown& down = state_.settings.trained_down;
    const PcieTree tree(server_);
    for (const std::string& name : down.devices) {
      const std::vector<std::size_t> up = tree.uplinks(name);
      if (up.empty()) {
        unknown_device(name);
        continue;
      }
      for (const std::size_t position : up) {
        LinkSpec& link = server_.links[position];
        const std::int64_t generation = down.generation.value_or(link.type.generation);
        const std::int64_t lanes = down.lanes.value_or(link.type.lanes);
        if (generation > link.type.generation || lanes > link.type.lanes) {
          error("trained_down.devices",
                fmt::format("the link of {} runs at Gen{} x{}, which Gen{} x{} is no step down from", name,
                            link.type.generation, link.type.lanes, generation, lanes));
          break;
        }
        retrain(link, generation, lanes, "trained_down.generation");
      }
    }
  }

  void unknown_device(const std::string& name) {
    std::vector<std::string> names;
    for (const DeviceKind kind : {DeviceKind::pcie_switch, DeviceKind::card, DeviceKind::nic}) {
      for (std::string& known : names_of(kind)) names.push_back(std::move(known));
    }
    const std::optional<std::string> near = did_you_mean(name, names);
    error("trained_down.devices", fmt::format("{} has no device \"{}\" on a PCIe link", server_.id, name),
          near ? fmt::format("did you mean \"{}\"?", *near) : "devices are " + join(names, ", "));
  }

  void edit_sockets() {
    const PlatformSocket& socket = state_.settings.socket;
    if (!socket.link && !socket.bandwidth && !socket.both_directions) return;
    const std::string key = socket.link        ? "socket.link"
                            : socket.bandwidth ? "socket.bandwidth"
                                               : "socket.both_directions";
    const bool joined = std::any_of(server_.links.begin(), server_.links.end(),
                                    [](const LinkSpec& link) { return link.type.kind == LinkKind::socket; });
    if (!joined) return error(key, fmt::format("{} has no link between sockets", server_.id));
    std::optional<LinkType> type;
    if (socket.link && !(type = socket_type(*socket.link))) return;
    for (LinkSpec& link : server_.links) {
      if (link.type.kind != LinkKind::socket) continue;
      if (type) link.type = *type;
      if (socket.bandwidth) set_rate(link.type, *socket.bandwidth);
      if (socket.both_directions) link.type.both_directions = socket.both_directions;
      if (!link.type.both_directions || *link.type.both_directions >= link.type.effective) continue;
      return error("socket.both_directions",
                   fmt::format("both directions together carry {}, less than one alone ({})",
                               quantity_text(*link.type.both_directions), quantity_text(link.type.effective)),
                   "set platform.socket.bandwidth too");
    }
  }

  /// A stated rate holds for nominal and measured figures alike; the cap of both directions keeps its proportion.
  static void set_rate(LinkType& type, Bandwidth rate) {
    if (type.both_directions && type.effective.count() > 0.0) {
      type.both_directions = *type.both_directions * (rate.count() / type.effective.count());
    }
    type.nominal = rate;
    type.effective = rate;
    type.source = "the scenario's platform.socket.bandwidth";
  }

  std::optional<LinkType> socket_type(const std::string& name) {
    std::vector<std::string> names;
    for (const auto& [id, type] : parts_.link_types) {
      if (type.kind != LinkKind::socket) continue;
      if (id == name) return type;
      names.push_back(id);
    }
    const std::optional<std::string> near = did_you_mean(name, names);
    error("socket.link", fmt::format("\"{}\" is no kind of link between sockets", name),
          near ? fmt::format("did you mean \"{}\"?", *near) : "topologies/links.toml has " + join(names, ", "));
    return std::nullopt;
  }

  void edit_host_memory() {
    if (const std::optional<Bytes> size = state_.settings.socket.memory) {
      for (DeviceSpec& device : server_.devices) {
        if (device.kind == DeviceKind::socket || device.kind == DeviceKind::host_memory) device.host_memory = *size;
      }
    }
    const std::optional<Bandwidth> bandwidth = state_.settings.socket.memory_bandwidth;
    if (!bandwidth) return;
    bool found = false;
    for (LinkSpec& link : server_.links) {
      if (link.type.kind != LinkKind::memory) continue;
      found = true;
      link.type.nominal = *bandwidth;
      link.type.effective = *bandwidth;
      link.type.both_directions.reset();
      link.type.source = "the scenario's platform.socket.memory_bandwidth";
    }
    if (!found) {
      error("socket.memory_bandwidth", fmt::format("{} states no host memory", server_.id),
            "add memory_bandwidth to a socket of the server file");
    }
  }

  void edit_nics() {
    const PlatformNic& nic = state_.settings.nic;
    if (!nic.placement && !nic.speed) return;
    if (!has_device(DeviceKind::nic)) {
      return error(nic.placement ? "nic.placement" : "nic.speed", fmt::format("{} has no NIC", server_.id));
    }
    for (DeviceSpec& device : server_.devices) {
      if (device.kind == DeviceKind::nic && nic.speed) device.nic_speed = *nic.speed;
    }
    if (nic.placement) place_nics(*nic.placement);
  }

  void place_nics(NicPlacement placement) {
    const std::vector<std::string> parents = parents_for(placement);
    if (parents.empty()) {
      const char* what = placement == NicPlacement::switches ? "switch with cards" : "socket";
      return error("nic.placement", fmt::format("{} has no {} to put NICs on", server_.id, what));
    }
    std::size_t next = 0;
    for (const std::string& name : names_of(DeviceKind::nic)) {
      for (LinkSpec& link : server_.links) {
        if (!is_pcie(link) || (link.from != name && link.to != name)) continue;
        (link.from == name ? link.to : link.from) = parents[next % parents.size()];
        break;
      }
      ++next;
    }
    for (const std::string& socket : names_of(DeviceKind::socket)) check_lanes(device(socket));
  }

  void check_lanes(const DeviceSpec& socket) {
    std::int64_t lanes = 0;
    for (const LinkSpec& link : server_.links) {
      if (is_pcie(link) && (link.from == socket.name || link.to == socket.name)) lanes += link.type.lanes;
    }
    if (socket.pcie_lanes == 0 || lanes <= socket.pcie_lanes) return;
    error("nic.placement",
          fmt::format("{} has {} PCIe lanes, but with these NICs its links need {}", socket.name, socket.pcie_lanes, lanes),
          "put them under the switches");
  }

  std::vector<std::string> parents_for(NicPlacement placement) const {
    std::vector<std::string> sockets = names_of(DeviceKind::socket);
    if (placement == NicPlacement::sockets) return sockets;
    if (placement == NicPlacement::first_socket) {
      sockets.resize(std::min<std::size_t>(sockets.size(), 1));
      return sockets;
    }
    std::vector<std::string> switches;
    for (const std::string& name : names_of(DeviceKind::pcie_switch)) {
      const bool has_cards = std::any_of(server_.links.begin(), server_.links.end(), [&](const LinkSpec& link) {
        return is_pcie(link) && (link.from == name || link.to == name) && card_at(link) != nullptr;
      });
      if (has_cards) switches.push_back(name);
    }
    return switches;
  }

  ServerSpec server_;
  const PlatformState& state_;
  const PlatformParts& parts_;
  Diagnostics diagnostics_;
};

}  // namespace

Result<ServerSpec> in_platform_state(ServerSpec server, const PlatformState& state, const PlatformParts& parts) {
  if (state.settings == PlatformSettings{}) return server;
  return PlatformEdit(std::move(server), state, parts).run();
}

}  // namespace takt
