// From a server file to devices and links. What only the text is needed for is checked here: names, types, lanes.
// What needs the cards' data (how many cards a bridge may join) is the topology floor's.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "config/server_file.hpp"
#include "config/toml_text.hpp"

namespace takt {
namespace {

/// The step from a file to its spec; every member function adds devices or links and reports what is wrong with them.
class ServerExpansion {
 public:
  ServerExpansion(const ServerFile& file, const std::map<std::string, LinkType>& link_types, Reading& reading)
      : file_(file), link_types_(link_types), reading_(reading), spec_(file.spec) {}

  ServerSpec expand() {
    for (const SocketEntry& entry : file_.sockets) add_socket(entry);
    add_devices(file_.switches, "switch", DeviceKind::pcie_switch);
    add_equal_cards();
    add_devices(file_.cards, "card", DeviceKind::card);
    add_devices(file_.nics, "nic", DeviceKind::nic);
    add_devices(file_.nvmes, "nvme", DeviceKind::nvme);
    check_has_cards();
    for (std::size_t i = 0; i < file_.links.size(); ++i) add_link(file_.links[i], fmt::format("link[{}]", i));
    for (std::size_t i = 0; i < file_.bridges.size(); ++i) add_bridge(file_.bridges[i], fmt::format("bridge[{}]", i));
    if (!file_.nvswitch.cards.empty()) add_nvswitch();
    check_lanes();
    return std::move(spec_);
  }

 private:
  SourcePlace place(const std::string& key, const SourcePlace& otherwise) const {
    const auto found = reading_.places.find(key);
    return found == reading_.places.end() ? otherwise : found->second;
  }

  void add_device(DeviceSpec device, const SourcePlace& name_place) {
    if (device.name.empty()) return;  // reported as missing
    if (!kinds_.emplace(device.name, device.kind).second) {
      reading_.error(name_place, fmt::format("two devices are named \"{}\"", device.name),
                     "names are unique in a server, over all kinds of devices");
      return;
    }
    names_.push_back(device.name);
    spec_.devices.push_back(std::move(device));
  }

  void add_devices(const std::vector<DeviceEntry>& entries, const std::string& kind_name, DeviceKind kind) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      DeviceSpec device = entries[i].device;
      device.kind = kind;
      device.place = entries[i].place;
      add_device(std::move(device), place(fmt::format("{}[{}].name", kind_name, i), entries[i].place));
    }
  }

  void add_socket(const SocketEntry& entry) {
    const auto number = static_cast<std::size_t>(&entry - file_.sockets.data());
    DeviceSpec socket = entry.device;
    socket.kind = DeviceKind::socket;
    socket.place = entry.place;
    add_device(socket, place(fmt::format("socket[{}].name", number), entry.place));
    if (!entry.memory_bandwidth || socket.name.empty()) return;
    DeviceSpec memory;
    memory.name = socket.name + " memory";
    memory.kind = DeviceKind::host_memory;
    memory.host_memory = socket.host_memory;
    memory.place = entry.place;
    LinkSpec link{socket.name, memory.name, {}, false, entry.place};
    link.type.id = "memory";
    link.type.kind = LinkKind::memory;
    link.type.nominal = *entry.memory_bandwidth;
    link.type.effective = *entry.memory_bandwidth;
    link.type.source = spec_.source;
    link.type.confidence = spec_.confidence;
    link.type.place = place(fmt::format("socket[{}].memory_bandwidth", number), entry.place);
    add_device(std::move(memory), entry.place);
    spec_.links.push_back(std::move(link));
  }

  void add_equal_cards() {
    const bool has_count = reading_.places.count("cards.count") > 0;
    const bool has_card = reading_.places.count("cards.card") > 0;
    if (!has_count && !has_card) return;
    const SourcePlace at = place(has_count ? "cards.count" : "cards.card", {});
    if (has_count != has_card) {
      reading_.error(at, fmt::format("[cards] needs both count and card, and has no {}", has_count ? "card" : "count"),
                     "e.g. count = 8, card = \"rtx-pro-6000-server\"");
    }
    if (!reading_.is_set("cards.count")) return;
    for (std::int64_t i = 0; i < file_.equal_cards.count; ++i) {
      DeviceSpec card;
      card.name = fmt::format("gpu{}", i);
      card.card = file_.equal_cards.card;
      card.place = at;
      add_device(std::move(card), at);
    }
  }

  void check_has_cards() {
    const auto is_card = [](const DeviceSpec& device) { return device.kind == DeviceKind::card; };
    if (std::any_of(spec_.devices.begin(), spec_.devices.end(), is_card)) return;
    for (const char* key : {"card", "cards.count", "cards.card"}) {
      if (reading_.places.count(key) > 0) return;  // what is wrong with it is reported already
    }
    reading_.error({spec_.file, 0, 0, {}}, "the server has no cards",
                   "add [[card]] with name and card, or [cards] with count and card");
  }

  /// Whether `name` is a device; adds an error at `key` otherwise.
  bool know_device(const std::string& name, const SourcePlace& at) {
    if (kinds_.count(name) > 0) return true;
    const std::optional<std::string> near = did_you_mean(name, names_);
    reading_.error(at, fmt::format("there is no device \"{}\" in this server", name),
                   near ? fmt::format("did you mean \"{}\"?", *near)
                        : fmt::format("devices are {}", join(names_, ", ")));
    return false;
  }

  /// The kind of link that a file names at `at`; null after an error.
  const LinkType* find_type(const std::string& name, const SourcePlace& at) {
    if (name.empty()) return nullptr;  // reported as missing
    const auto found = link_types_.find(name);
    if (found != link_types_.end()) return &found->second;
    std::vector<std::string> ids;
    for (const auto& [id, type] : link_types_) ids.push_back(id);
    const std::optional<std::string> near = did_you_mean(name, ids);
    reading_.error(at, fmt::format("there is no kind of link \"{}\"", name),
                   near ? fmt::format("did you mean \"{}\"?", *near)
                        : fmt::format("topologies/links.toml has {}", join(ids, ", ")));
    return nullptr;
  }

  void add_link(const LinkEntry& entry, const std::string& key) {
    const LinkType* type = find_type(entry.type, place(key + ".type", entry.place));
    const bool from = !entry.from.empty() && know_device(entry.from, place(key + ".from", entry.place));
    const bool to = !entry.to.empty() && know_device(entry.to, place(key + ".to", entry.place));
    if (from && to && entry.from == entry.to) {
      reading_.error(place(key + ".to", entry.place), fmt::format("a link from \"{}\" to itself", entry.to),
                     "a link joins two devices");
      return;
    }
    if (!type || !from || !to) return;
    LinkSpec link{entry.from, entry.to, *type, entry.assumed, entry.place};
    if (entry.lanes) scale_lanes(link.type, *entry.lanes, place(key + ".lanes", entry.place));
    if (entry.nominal) link.type.nominal = *entry.nominal;
    if (entry.effective) link.type.effective = *entry.effective;
    if (entry.both_directions) link.type.both_directions = entry.both_directions;
    if (entry.latency) link.type.latency = *entry.latency;
    if (!entry.source.empty()) link.type.source = entry.source;
    link.host_bridge = entry.host_bridge;
    const bool at_socket = kinds_.at(entry.from) == DeviceKind::socket || kinds_.at(entry.to) == DeviceKind::socket;
    if (entry.host_bridge > 0 && (!at_socket || type->kind != LinkKind::pcie)) {
      reading_.error(place(key + ".host_bridge", entry.place),
                     fmt::format("the link between \"{}\" and \"{}\" hangs on no host bridge", entry.from, entry.to),
                     "only PCIe links of a socket do");
    }
    spec_.links.push_back(std::move(link));
  }

  /// `type` with another number of lanes: its bandwidths in proportion.
  void scale_lanes(LinkType& type, std::int64_t lanes, const SourcePlace& at) {
    if (type.lanes == 0) {
      reading_.error(at, fmt::format("\"{}\" is a kind of link without lanes", type.id), "set nominal and effective");
      return;
    }
    const double factor = static_cast<double>(lanes) / static_cast<double>(type.lanes);
    type.lanes = lanes;
    type.nominal = type.nominal * factor;
    type.effective = type.effective * factor;
    if (type.both_directions) type.both_directions = *type.both_directions * factor;
  }

  /// Whether all names are different cards of this server.
  bool know_cards(const std::vector<std::string>& cards, const std::string& what, const SourcePlace& at) {
    bool good = true;
    std::set<std::string> seen;
    for (const std::string& card : cards) {
      if (!know_device(card, at)) {
        good = false;
      } else if (kinds_.at(card) != DeviceKind::card) {
        reading_.error(at, fmt::format("{} joins cards, and \"{}\" is none", what, card));
        good = false;
      } else if (!seen.insert(card).second) {
        reading_.error(at, fmt::format("{} names \"{}\" twice", what, card));
        good = false;
      }
    }
    return good;
  }

  void add_bridge(const BridgeEntry& entry, const std::string& key) {
    BridgeSpec bridge = entry.bridge;
    bridge.place = entry.place;
    if (const LinkType* type = find_type(entry.type, place(key + ".type", entry.place))) bridge.link = *type;
    if ((entry.effective || entry.both_directions) && !bridge.link) bridge.link = LinkType{};
    if (entry.effective) bridge.link->effective = *entry.effective;
    if (entry.both_directions) bridge.link->both_directions = entry.both_directions;
    const SourcePlace at = place(key + ".cards", entry.place);
    if (!know_cards(bridge.cards, "a bridge", at) || !reading_.is_set(key + ".cards")) return;
    if (bridge.cards.size() < 2) {
      reading_.error(at, fmt::format("a bridge over {} card", bridge.cards.size()), "a bridge joins two or four cards");
    }
    for (const std::string& card : bridge.cards) {
      if (!joined_.insert(card).second) {
        reading_.error(at, fmt::format("card \"{}\" is in two bridges", card), "a card's NVLinks go to one bridge");
      }
    }
    spec_.bridges.push_back(std::move(bridge));
  }

  void add_nvswitch() {
    const NvswitchEntry& entry = file_.nvswitch;
    const SourcePlace at = place("nvswitch.cards", {});
    const LinkType* nvlink = find_type(entry.type, place("nvswitch.type", at));
    if (!know_cards(entry.cards, "the NVSwitch", at)) return;
    DeviceSpec device;
    device.name = "nvswitch";
    device.kind = DeviceKind::nvswitch;
    device.place = at;
    add_device(std::move(device), at);
    for (const std::string& card : entry.cards) {
      if (joined_.count(card) > 0) {
        reading_.error(at, fmt::format("card \"{}\" is in a bridge and on the NVSwitch", card),
                       "a card's NVLinks go to one of the two");
      }
      LinkSpec link{card, "nvswitch", nvlink ? *nvlink : LinkType{}, false, at};
      if (!nvlink) link.type.id = "nvswitch";
      link.type.kind = LinkKind::nvswitch;
      if (entry.effective) link.type.effective = *entry.effective;
      if (entry.both_directions) link.type.both_directions = entry.both_directions;
      if (entry.latency) link.type.latency = *entry.latency;
      if (!entry.source.empty() || !nvlink) link.type.source = entry.source.empty() ? spec_.source : entry.source;
      link.type.place = at;
      spec_.links.push_back(std::move(link));
    }
  }

  /// The PCIe lanes that links take at a socket against those it has.
  void check_lanes() {
    for (const DeviceSpec& device : spec_.devices) {
      if (device.kind != DeviceKind::socket || device.pcie_lanes == 0) continue;
      std::int64_t used = 0;
      const LinkSpec* first_beyond = nullptr;
      for (const LinkSpec& link : spec_.links) {
        const bool here = link.from == device.name || link.to == device.name;
        if (!here || link.type.kind != LinkKind::pcie) continue;
        used += link.type.lanes;
        if (used > device.pcie_lanes && !first_beyond) first_beyond = &link;
      }
      if (!first_beyond) continue;
      reading_.error(first_beyond->place,
                     fmt::format("the links of \"{}\" take {} PCIe lanes, but it has {}", device.name, used,
                                 device.pcie_lanes),
                     "use narrower links or a PCIe switch, or correct pcie_lanes");
    }
  }

  const ServerFile& file_;
  const std::map<std::string, LinkType>& link_types_;
  Reading& reading_;
  ServerSpec spec_;
  std::vector<std::string> names_;            ///< in order of appearance, for messages
  std::map<std::string, DeviceKind> kinds_;   ///< of every device by name
  std::set<std::string> joined_;              ///< cards in a bridge
};

}  // namespace

Result<ServerSpec> read_server(const SourceText& source, const std::map<std::string, LinkType>& link_types,
                               const NodeChanges& changes) {
  const Result<Document> document = parse_changed(source, changes);
  if (!document) return document.diagnostics();
  ServerFile file;
  Reading reading;
  server_keys().read(document->root, "", file, reading);
  file.spec.id = file_stem(source.file);
  file.spec.file = source.file;
  ServerSpec spec = ServerExpansion(file, link_types, reading).expand();
  spec.places = reading.places;
  return finish(std::move(spec), std::move(reading));
}

}  // namespace takt
