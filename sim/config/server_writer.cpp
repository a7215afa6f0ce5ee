#include "config/server_writer.hpp"

#include "config/quantity.hpp"
#include "config/toml_text.hpp"

#include <utility>
#include <vector>

namespace takt {
namespace {

/// "{ name = "cpu0", cores = 32 }", key by key.
class InlineTable {
 public:
  InlineTable& key(const std::string& name, const std::string& toml) {
    text_ += (text_.empty() ? "" : ", ") + name + " = " + toml;
    return *this;
  }
  InlineTable& text(const std::string& name, const std::string& value) { return key(name, toml_string(value)); }

  template <class T>
  InlineTable& quantity(const std::string& name, T value) {
    return text(name, quantity_text(value));
  }

  std::string toml() const { return "{ " + text_ + " }"; }

 private:
  std::string text_;
};

class ServerWriter {
 public:
  ServerWriter(const ServerSpec& server, const std::map<std::string, LinkType>& link_types)
      : server_(server), link_types_(link_types) {}

  std::string text() {
    write_head();
    const bool equal = cards_are_equal();
    write_list("socket", [&](const DeviceSpec& d) { return d.kind == DeviceKind::socket; });
    write_list("switch", [&](const DeviceSpec& d) { return d.kind == DeviceKind::pcie_switch; });
    if (!equal) write_list("card", [&](const DeviceSpec& d) { return d.kind == DeviceKind::card; });
    write_list("nic", [&](const DeviceSpec& d) { return d.kind == DeviceKind::nic; });
    write_list("nvme", [&](const DeviceSpec& d) { return d.kind == DeviceKind::nvme; });
    write_links();
    write_bridges();
    if (equal) write_equal_cards();
    write_nvswitch();
    write_peer_to_peer();
    write_nccl();
    return std::move(text_);
  }

 private:
  void table(const std::string& heading) { text_ += "\n" + heading + "\n"; }

  void key(const std::string& name, const std::string& toml) { text_ += name + " = " + toml + "\n"; }

  void key_if_set(const std::string& name, const std::string& value) {
    if (!value.empty()) key(name, toml_string(value));
  }

  static std::string list(const std::vector<std::string>& items) {
    std::string toml = "[";
    for (const std::string& item : items) toml += (toml.size() > 1 ? ", " : "") + toml_string(item);
    return toml + "]";
  }

  /// `name = [`, one item a line, `]`; nothing if there are none. Items are TOML.
  void lines(const std::string& name, const std::vector<std::string>& items) {
    if (items.empty()) return;
    text_ += name + " = [\n";
    for (const std::string& item : items) text_ += "  " + item + ",\n";
    text_ += "]\n";
  }

  void write_head() {
    key("title", toml_string(server_.title));
    key("source", toml_string(server_.source));
    key_if_set("confidence", server_.confidence);
    std::vector<std::string> sentences;
    for (const std::string& line : server_.assumed) sentences.push_back(toml_string(line));
    lines("assumed", sentences);
  }

  /// Cards named gpu0, gpu1, ... of one kind.
  bool cards_are_equal() const {
    std::size_t count = 0;
    const std::string* card = nullptr;
    for (const DeviceSpec& device : server_.devices) {
      if (device.kind != DeviceKind::card) continue;
      if (!card) card = &device.card;
      if (device.name != "gpu" + std::to_string(count++) || device.card != *card) return false;
    }
    return count > 0;
  }

  void write_equal_cards() {
    std::size_t count = 0;
    std::string card;
    for (const DeviceSpec& device : server_.devices) {
      if (device.kind != DeviceKind::card) continue;
      ++count;
      card = device.card;
    }
    table("[cards]");
    key("count", std::to_string(count));
    key("card", toml_string(card));
  }

  template <class Wanted>
  void write_list(const std::string& name, Wanted wanted) {
    std::vector<std::string> items;
    for (const DeviceSpec& device : server_.devices) {
      if (wanted(device)) items.push_back(device_toml(device));
    }
    if (!items.empty()) text_ += '\n';
    lines(name, items);
  }

  /// The memory link of a socket, or null.
  const LinkSpec* memory_of(const std::string& socket) const {
    for (const LinkSpec& link : server_.links) {
      if (link.type.kind == LinkKind::memory && link.from == socket) return &link;
    }
    return nullptr;
  }

  std::string device_toml(const DeviceSpec& device) const {
    InlineTable toml;
    toml.text("name", device.name);
    if (device.kind == DeviceKind::card) toml.text("card", device.card);
    if (device.nic_speed.count() > 0.0) toml.quantity("speed", device.nic_speed);
    if (device.kind != DeviceKind::socket) return toml.toml();
    if (!device.cpu.empty()) toml.text("cpu", device.cpu);
    if (device.cores > 0) toml.key("cores", std::to_string(device.cores));
    if (device.host_memory.count() > 0) toml.quantity("memory", device.host_memory);
    if (const LinkSpec* memory = memory_of(device.name)) toml.quantity("memory_bandwidth", memory->type.nominal);
    if (device.pcie_lanes > 0) toml.key("pcie_lanes", std::to_string(device.pcie_lanes));
    return toml.toml();
  }

  /// What the reader makes of the type and the number of lanes alone.
  LinkType as_read(const LinkSpec& link) const {
    const auto found = link_types_.find(link.type.id);
    LinkType type = found == link_types_.end() ? LinkType{} : found->second;
    if (type.lanes == 0 || type.lanes == link.type.lanes) return type;
    const double factor = static_cast<double>(link.type.lanes) / static_cast<double>(type.lanes);
    type.nominal = type.nominal * factor;
    type.effective = type.effective * factor;
    if (type.both_directions) type.both_directions = *type.both_directions * factor;
    return type;
  }

  std::string link_toml(const LinkSpec& link) const {
    const LinkType read = as_read(link);
    const LinkType& type = link.type;
    const auto named = link_types_.find(type.id);
    InlineTable toml;
    toml.text("from", link.from).text("to", link.to).text("type", type.id);
    if (named != link_types_.end() && named->second.lanes != type.lanes) toml.key("lanes", std::to_string(type.lanes));
    if (type.nominal != read.nominal) toml.quantity("nominal", type.nominal);
    if (type.effective != read.effective) toml.quantity("effective", type.effective);
    if (type.both_directions && type.both_directions != read.both_directions) {
      toml.quantity("both_directions", *type.both_directions);
    }
    if (type.latency != read.latency) toml.quantity("latency", type.latency);
    if (link.host_bridge > 0) toml.key("host_bridge", std::to_string(link.host_bridge));
    if (type.source != read.source) toml.text("source", type.source);
    if (link.assumed) toml.key("assumed", "true");
    return toml.toml();
  }

  void write_links() {
    std::vector<std::string> items;
    for (const LinkSpec& link : server_.links) {
      const bool implied = link.type.kind == LinkKind::memory || link.type.kind == LinkKind::nvswitch;
      if (!implied) items.push_back(link_toml(link));
    }
    if (!items.empty()) text_ += '\n';
    lines("link", items);
  }

  void write_bridges() {
    std::vector<std::string> items;
    for (const BridgeSpec& bridge : server_.bridges) {
      InlineTable toml;
      toml.key("cards", list(bridge.cards));
      if (bridge.link) {
        const auto named = link_types_.find(bridge.link->id);
        const LinkType read = named == link_types_.end() ? LinkType{} : named->second;
        if (named != link_types_.end()) toml.text("type", bridge.link->id);
        if (bridge.link->effective != read.effective) toml.quantity("effective", bridge.link->effective);
        if (bridge.link->both_directions && bridge.link->both_directions != read.both_directions)
          toml.quantity("both_directions", *bridge.link->both_directions);
      }
      if (!bridge.source.empty()) toml.text("source", bridge.source);
      items.push_back(toml.toml());
    }
    if (!items.empty()) text_ += '\n';
    lines("bridge", items);
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
    const LinkType read = is_named ? named->second : LinkType{};
    if (type.effective != read.effective) key("effective", toml_string(quantity_text(type.effective)));
    if (type.both_directions && type.both_directions != read.both_directions)
      key("both_directions", toml_string(quantity_text(*type.both_directions)));
    if (type.latency != (is_named ? named->second.latency : Duration{})) {
      key("latency", toml_string(quantity_text(type.latency)));
    }
    if (type.source != (is_named ? named->second.source : server_.source)) key_if_set("source", type.source);
  }

  bool stated(const std::string& path) const { return server_.places.count(path) > 0; }

  void write_peer_to_peer() {
    const PeerToPeerSpec& state = server_.peer_to_peer;
    const PeerToPeerSpec usual;
    const std::string before = std::exchange(text_, "");
    const auto flag = [&](const std::string& name, bool value, bool default_) {
      if (value != default_ || stated("peer_to_peer." + name)) key(name, value ? "true" : "false");
    };
    flag("enabled", state.enabled, usual.enabled);
    if (state.level != usual.level || stated("peer_to_peer.level")) key("level", toml_string(state.level));
    flag("iommu", state.iommu, usual.iommu);
    flag("acs", state.acs, usual.acs);
    const std::string keys = std::exchange(text_, before);
    if (keys.empty()) return;
    table("[peer_to_peer]");
    text_ += keys;
  }

  void write_nccl() {
    const NcclSpec& nccl = server_.nccl;
    const bool measured = nccl.rate != 1.0 || nccl.latency != 1.0;
    if (nccl.channels == 0 && !measured && nccl.source.empty()) return;
    table("[nccl]");
    if (nccl.channels > 0 || !measured) key("channels", std::to_string(nccl.channels));
    if (nccl.rate != 1.0) key("rate", toml_float(nccl.rate));
    if (nccl.latency != 1.0) key("latency", toml_float(nccl.latency));
    key_if_set("source", server_.nccl.source);
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
