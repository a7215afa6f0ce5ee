#include "config/server_writer.hpp"

#include "config/quantity.hpp"
#include "config/toml_text.hpp"

#include <utility>
#include <vector>

namespace takt {
namespace {

class ServerWriter {
 public:
  ServerWriter(const ServerSpec& server, const std::map<std::string, LinkType>& link_types)
      : server_(server), link_types_(link_types) {}

  std::string text() {
    write_head();
    write_peer_to_peer();
    write_nccl();
    for (const DeviceSpec& device : server_.devices) {
      if (device.kind == DeviceKind::socket) write_socket(device);
    }
    write_devices(DeviceKind::pcie_switch, "switch");
    write_devices(DeviceKind::card, "card");
    write_devices(DeviceKind::nic, "nic");
    write_devices(DeviceKind::nvme, "nvme");
    for (const LinkSpec& link : server_.links) {
      if (link.type.kind != LinkKind::memory && link.type.kind != LinkKind::nvswitch) write_link(link);
    }
    for (const BridgeSpec& bridge : server_.bridges) write_bridge(bridge);
    write_nvswitch();
    return std::move(text_);
  }

 private:
  void table(const std::string& heading) { text_ += "\n" + heading + "\n"; }

  void key(const std::string& name, const std::string& toml) { text_ += name + " = " + toml + "\n"; }

  void key_if_set(const std::string& name, const std::string& value) {
    if (!value.empty()) key(name, toml_string(value));
  }

  template <class T>
  void quantity(const std::string& name, T value) {
    key(name, toml_string(quantity_text(value)));
  }

  static std::string list(const std::vector<std::string>& items) {
    std::string toml = "[";
    for (const std::string& item : items) toml += (toml.size() > 1 ? ", " : "") + toml_string(item);
    return toml + "]";
  }

  /// One item a line: these are sentences.
  static std::string sentences(const std::vector<std::string>& items) {
    std::string toml = "[\n";
    for (const std::string& item : items) toml += "  " + toml_string(item) + ",\n";
    return toml + "]";
  }

  void write_head() {
    key("title", toml_string(server_.title));
    key("source", toml_string(server_.source));
    key_if_set("confidence", server_.confidence);
    if (!server_.assumed.empty()) key("assumed", sentences(server_.assumed));
  }

  bool stated(const std::string& path) const { return server_.places.count(path) > 0; }

  void write_peer_to_peer() {
    const PeerToPeerSpec& state = server_.peer_to_peer;
    const PeerToPeerSpec usual;
    std::string heading = "[peer_to_peer]";
    const auto flag = [&](const std::string& name, bool value, bool default_) {
      if (value == default_ && !stated("peer_to_peer." + name)) return;
      if (!heading.empty()) table(std::exchange(heading, ""));
      key(name, value ? "true" : "false");
    };
    flag("enabled", state.enabled, usual.enabled);
    if (state.level != usual.level || stated("peer_to_peer.level")) {
      if (!heading.empty()) table(std::exchange(heading, ""));
      key("level", toml_string(state.level));
    }
    flag("iommu", state.iommu, usual.iommu);
    flag("acs", state.acs, usual.acs);
  }

  void write_nccl() {
    if (server_.nccl.channels == 0 && server_.nccl.source.empty()) return;
    table("[nccl]");
    key("channels", std::to_string(server_.nccl.channels));
    key_if_set("source", server_.nccl.source);
  }

  /// The memory link of a socket, or null.
  const LinkSpec* memory_of(const std::string& socket) const {
    for (const LinkSpec& link : server_.links) {
      if (link.type.kind == LinkKind::memory && link.from == socket) return &link;
    }
    return nullptr;
  }

  void write_socket(const DeviceSpec& socket) {
    table("[[socket]]");
    key("name", toml_string(socket.name));
    key_if_set("cpu", socket.cpu);
    if (socket.cores > 0) key("cores", std::to_string(socket.cores));
    if (socket.host_memory.count() > 0) quantity("memory", socket.host_memory);
    if (const LinkSpec* memory = memory_of(socket.name)) quantity("memory_bandwidth", memory->type.nominal);
    if (socket.pcie_lanes > 0) key("pcie_lanes", std::to_string(socket.pcie_lanes));
  }

  void write_devices(DeviceKind kind, const std::string& name) {
    for (const DeviceSpec& device : server_.devices) {
      if (device.kind != kind) continue;
      table("[[" + name + "]]");
      key("name", toml_string(device.name));
      if (kind == DeviceKind::card) key("card", toml_string(device.card));
      if (kind == DeviceKind::nic && device.nic_speed.count() > 0.0) quantity("speed", device.nic_speed);
    }
  }

  /// What the reader makes of the type and the number of lanes alone.
  LinkType as_read(const LinkSpec& link, bool& lanes_differ) const {
    const auto found = link_types_.find(link.type.id);
    LinkType type = found == link_types_.end() ? LinkType{} : found->second;
    lanes_differ = type.lanes > 0 && type.lanes != link.type.lanes;
    if (!lanes_differ) return type;
    const double factor = static_cast<double>(link.type.lanes) / static_cast<double>(type.lanes);
    type.nominal = type.nominal * factor;
    type.effective = type.effective * factor;
    if (type.both_directions) type.both_directions = *type.both_directions * factor;
    return type;
  }

  void write_link(const LinkSpec& link) {
    bool lanes_differ = false;
    const LinkType read = as_read(link, lanes_differ);
    table("[[link]]");
    key("from", toml_string(link.from));
    key("to", toml_string(link.to));
    key("type", toml_string(link.type.id));
    if (lanes_differ) key("lanes", std::to_string(link.type.lanes));
    if (link.type.nominal != read.nominal) quantity("nominal", link.type.nominal);
    if (link.type.effective != read.effective) quantity("effective", link.type.effective);
    if (link.type.both_directions && link.type.both_directions != read.both_directions) {
      quantity("both_directions", *link.type.both_directions);
    }
    if (link.type.latency != read.latency) quantity("latency", link.type.latency);
    if (link.type.source != read.source) key("source", toml_string(link.type.source));
    if (link.assumed) key("assumed", "true");
  }

  void write_bridge(const BridgeSpec& bridge) {
    table("[[bridge]]");
    key("cards", list(bridge.cards));
    if (bridge.link) key("type", toml_string(bridge.link->id));
    key_if_set("source", bridge.source);
  }

  void write_nvswitch() {
    std::vector<std::string> cards;
    const LinkSpec* first = nullptr;
    for (const LinkSpec& link : server_.links) {
      if (link.type.kind != LinkKind::nvswitch) continue;
      if (!first) first = &link;
      cards.push_back(link.from);
    }
    if (!first) return;
    table("[nvswitch]");
    key("cards", list(cards));
    const LinkType& type = first->type;
    const auto named = link_types_.find(type.id);
    const bool is_named = named != link_types_.end();
    if (is_named) key("type", toml_string(type.id));
    if (type.latency != (is_named ? named->second.latency : Duration{})) quantity("latency", type.latency);
    if (type.source != (is_named ? named->second.source : server_.source)) key_if_set("source", type.source);
  }

  const ServerSpec& server_;
  const std::map<std::string, LinkType>& link_types_;
  std::string text_;
};

}  // namespace

std::string write_server(const ServerSpec& server, const std::map<std::string, LinkType>& link_types) {
  return ServerWriter(server, link_types).text();
}

}  // namespace takt
