// hwloc's XML: a tree of <object type=...>. Packages hold NUMA nodes, cores and, as children, the host bridges whose
// locality they are; under a host bridge (bridge_type "0-1") PCI-PCI bridges ("1-1") lead to PCI devices.
//
// A PCIe switch is one upstream port with downstream ports below it, and each port is a bridge of its own. Counted from
// the host bridge, the bridges on the way to a device are therefore: root port, upstream port, downstream port,
// upstream port, ... Only upstream ports become switches; a link's speed is that of the port or device at its lower
// end.
//
// hwloc states a link's speed as payload GB/s. x16 is taken where a generation gives that speed with 16 lanes, else the
// widest link that does: 15.75 GB/s is Gen3 x16 here, and Gen4 x8 would carry the same.
#include "base/text.hpp"
#include "config/xml.hpp"
#include "topology/import/cpu_family.hpp"
#include "topology/import/link_catalog.hpp"
#include "topology/import/lstopo_nvlink.hpp"
#include "topology/import/pci_ids.hpp"
#include "topology/import/server_draft.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <map>

namespace takt {
namespace {

constexpr std::string_view host_bridge = "0-1";

struct Speed {
  std::int64_t generation;
  std::int64_t lanes;
};

/// The widest link with this payload rate; nothing for 0 (unknown) and rates that no PCIe link has.
std::optional<Speed> link_of(double gigabytes) {
  constexpr std::array<double, 6> lane_rates = {
      0.25,    0.5, 8.0 / 8 * 128 / 130, 16.0 / 8 * 128 / 130, 32.0 / 8 * 128 / 130,
      64.0 / 8};  // GB/s of a lane, PCIe 1 to 6
  constexpr std::array<std::int64_t, 5> widths = {16, 8, 4, 2, 1};
  for (const std::int64_t lanes : widths) {
    for (std::size_t i = 0; i < lane_rates.size(); ++i) {
      const double rate = lane_rates[i] * static_cast<double>(lanes);
      constexpr double printed_precision = 0.01;  // relative; generations are a factor of two apart
      if (std::abs(gigabytes - rate) < printed_precision * rate) return Speed{static_cast<std::int64_t>(i) + 1, lanes};
    }
  }
  return std::nullopt;
}

/// "0302 [10de:233b] [10de:1996] a1"
struct PciType {
  std::uint32_t class_code = 0;
  std::uint32_t vendor = 0;
  std::uint32_t device = 0;
};

std::optional<PciType> pci_type(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t colon = text.find(':', open);
  const std::size_t close = text.find(']', open);
  if (open == std::string_view::npos || colon == std::string_view::npos || close == std::string_view::npos) {
    return std::nullopt;
  }
  const auto class_code = hexadecimal(trim(text.substr(0, open)));
  const auto vendor = hexadecimal(text.substr(open + 1, colon - open - 1));
  const auto device = hexadecimal(text.substr(colon + 1, close - colon - 1));
  if (!class_code || !vendor || !device) return std::nullopt;
  constexpr unsigned interface_bits = 8;
  return PciType{*class_code << interface_bits, *vendor, *device};
}

class LstopoReader {
 public:
  explicit LstopoReader(const SourceText& source) : source_(source) {}

  Result<ServerDraft> read() {
    const Result<XmlElement> root = read_xml(source_);
    if (!root) return root.diagnostics();
    if (root->name != "topology") {
      return Diagnostic{Severity::error, place_of(*root, source_),
                        fmt::format("the root element is <{}>, not <topology>", root->name),
                        "is this what `lstopo --of xml` prints?"};
    }
    draft_.source = "lstopo (hwloc XML)";
    for (const XmlElement& machine : root->children) {
      if (machine.name == "object") read_machine(machine);
    }
    if (errors_.empty() && cards_.empty()) {
      error(*root, "no NVIDIA card among the PCI devices",
            "was lstopo run on the server itself, with its PCI devices? (`lstopo --whole-io --of xml`)");
    }
    if (!errors_.empty()) return std::move(errors_);
    finish();
    add_nvlinks(*root);
    if (!errors_.empty()) return std::move(errors_);
    return std::move(draft_);
  }

 private:
  using Visit = std::function<void(const XmlElement&)>;

  void error(const XmlElement& element, std::string message, std::string hint = "") {
    errors_.push_back({Severity::error, place_of(element, source_), std::move(message), std::move(hint)});
  }

  static std::string type_of(const XmlElement& element) {
    return element.name == "object" ? element.attribute("type").value_or("") : "";
  }

  static std::string info(const XmlElement& element, std::string_view name) {
    for (const XmlElement& child : element.children) {
      if (child.name == "info" && child.attribute("name") == name) return child.attribute("value").value_or("");
    }
    return "";
  }

  static std::int64_t integer(const std::string& text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }

  /// Calls `visit` for every object below `element`, not going into bridges.
  static void for_each_below(const XmlElement& element, const Visit& visit) {
    for (const XmlElement& child : element.children) {
      if (child.name != "object") continue;
      visit(child);
      if (type_of(child) != "Bridge") for_each_below(child, visit);
    }
  }

  void read_machine(const XmlElement& machine) {
    std::vector<const XmlElement*> packages;
    for_each_below(machine, [&](const XmlElement& object) {
      if (type_of(object) == "Package" || type_of(object) == "Socket") packages.push_back(&object);
    });
    if (packages.empty()) packages.push_back(&machine);
    for (const XmlElement* package : packages) read_package(*package);
    read_stray_bridges(machine, packages);
  }

  /// A NUMA node's memory; 0 where the file states none or nonsense.
  static Bytes memory_of(const XmlElement& node) {
    const std::int64_t bytes = integer(node.attribute("local_memory").value_or(""));
    constexpr std::int64_t petabyte = 1'000'000'000'000'000;
    return Bytes(bytes > 0 && bytes < petabyte ? bytes : 0);
  }

  void read_package(const XmlElement& package) {
    SocketDraft socket;
    socket.name = "cpu" + std::to_string(draft_.sockets.size());
    const std::string vendor = info(package, "CPUVendor");
    const std::string family = info(package, "CPUFamilyNumber");
    if (!family.empty()) {
      socket.cpu = cpu_family_id(vendor, integer(family), integer(info(package, "CPUModelNumber")));
    }
    std::int64_t nodes = 0;
    for_each_below(package, [&](const XmlElement& object) {
      if (type_of(object) == "Core") ++socket.cores;
      if (type_of(object) == "NUMANode") {
        ++nodes;
        socket.memory += memory_of(object);
      }
    });
    several_nodes_ = several_nodes_ || nodes > 1;
    draft_.sockets.push_back(socket);
    host_bridges_ = 0;
    for_each_below(package, [&](const XmlElement& object) {
      if (type_of(object) == "Bridge") read_bridge(object, socket.name, 0);
      if (type_of(object) == "PCIDev") read_device(object, socket.name);
    });
  }

  /// Bridges outside all packages: the system does not say which socket they are near.
  void read_stray_bridges(const XmlElement& machine, const std::vector<const XmlElement*>& packages) {
    if (packages.front() == &machine) return;
    const std::size_t before = draft_.devices.size() + cards_.size();
    const Visit visit = [&](const XmlElement& object) {
      if (type_of(object) == "Bridge") read_bridge(object, draft_.sockets.front().name, 0);
      if (type_of(object) == "PCIDev") read_device(object, draft_.sockets.front().name);
    };
    const std::function<void(const XmlElement&)> walk = [&](const XmlElement& element) {
      for (const XmlElement& child : element.children) {
        const bool is_package = std::find(packages.begin(), packages.end(), &child) != packages.end();
        if (child.name != "object" || is_package) continue;
        visit(child);
        if (type_of(child) != "Bridge") walk(child);
      }
    };
    walk(machine);
    if (packages.size() > 1 && draft_.devices.size() + cards_.size() > before) {
      draft_.assumed.push_back("devices that lstopo places on no package are on cpu0");
    }
  }

  /// `depth`: bridges between the host bridge and this one, itself included; 0 for the host bridge.
  void read_bridge(const XmlElement& bridge, const std::string& parent, int depth) {
    const bool is_host_bridge = bridge.attribute("bridge_type").value_or("") == host_bridge;
    const bool is_upstream_port = !is_host_bridge && depth % 2 == 0 && depth > 0;
    std::string vertex = parent;
    if (is_host_bridge && holds_device(bridge)) ++host_bridges_;
    if (is_upstream_port && holds_device(bridge)) {
      DeviceDraft device;
      device.host_bridge = host_bridge_below(parent);
      device.name = "sw" + std::to_string(switches_++);
      device.kind = DeviceKind::pcie_switch;
      device.parent = parent;
      set_link(bridge, device);
      vertex = device.name;
      draft_.devices.push_back(std::move(device));
    }
    for (const XmlElement& child : bridge.children) {
      if (type_of(child) == "Bridge") read_bridge(child, vertex, is_host_bridge ? 1 : depth + 1);
      if (type_of(child) == "PCIDev") read_device(child, vertex);
    }
  }

  /// What hangs on a socket hangs on the host bridge that is being read.
  std::int64_t host_bridge_below(const std::string& parent) const {
    const bool at_socket = std::any_of(draft_.sockets.begin(), draft_.sockets.end(),
                                       [&](const SocketDraft& socket) { return socket.name == parent; });
    return at_socket ? host_bridges_ : 0;
  }

  /// Switches that lead to nothing Takt models are left out.
  static bool holds_device(const XmlElement& bridge) {
    for (const XmlElement& child : bridge.children) {
      if (type_of(child) == "Bridge" && holds_device(child)) return true;
      if (type_of(child) != "PCIDev") continue;
      const std::optional<PciType> type = pci_type(child.attribute("pci_type").value_or(""));
      const PciKind kind = type ? pci_kind(type->class_code, type->vendor) : PciKind::other;
      if (kind == PciKind::card || kind == PciKind::nic) return true;
    }
    return false;
  }

  void set_link(const XmlElement& element, DeviceDraft& device) {
    const std::string text = element.attribute("pci_link_speed").value_or("");
    double gigabytes = 0.0;
    std::from_chars(text.data(), text.data() + text.size(), gigabytes);
    if (gigabytes <= 0.0) return;
    if (const std::optional<Speed> speed = link_of(gigabytes)) {
      device.pcie_generation = speed->generation;
      device.pcie_lanes = speed->lanes;
      speeds_stated_ = true;
      return;
    }
    error(element, fmt::format("pci_link_speed {} GB/s is that of no PCIe link", text));
  }

  void read_device(const XmlElement& element, const std::string& parent) {
    const std::string text = element.attribute("pci_type").value_or("");
    const std::optional<PciType> type = pci_type(text);
    if (!type) return error(element, fmt::format("pci_type \"{}\" is not \"CLASS [VENDOR:DEVICE]\"", text));
    DeviceDraft device;
    device.parent = parent;
    device.host_bridge = host_bridge_below(parent);
    remember_objects(element, pci_kind(type->class_code, type->vendor));
    switch (pci_kind(type->class_code, type->vendor)) {
      case PciKind::card:
        device.kind = DeviceKind::card;
        device.card = card_of_pci_device(type->vendor, type->device);
        set_link(element, device);
        cards_.emplace_back(element.attribute("pci_busid").value_or(""), std::move(device));
        return;
      case PciKind::nic:
        device.kind = DeviceKind::nic;
        device.name = "nic" + std::to_string(nics_++);
        set_link(element, device);
        draft_.devices.push_back(std::move(device));
        return;
      default:
        return;
    }
  }

  /// The numbers by which tables of distances name this device: its own and those of its OS devices ("nvml0").
  void remember_objects(const XmlElement& element, PciKind kind) {
    if (kind != PciKind::card && kind != PciKind::nvswitch) return;
    const std::string bus_id = kind == PciKind::card ? element.attribute("pci_busid").value_or("") : "";
    objects_[element.attribute("gp_index").value_or("")] = bus_id;
    for (const XmlElement& child : element.children) {
      if (type_of(child) == "OSDev") objects_[child.attribute("gp_index").value_or("")] = bus_id;
    }
  }

  /// NVLinks, where hwloc was built with NVML and states them.
  void add_nvlinks(const XmlElement& root) {
    NvlinkObjects objects;
    for (const auto& [number, bus_id] : objects_) {
      const auto card = std::find_if(cards_.begin(), cards_.end(), [&](const auto& c) { return c.first == bus_id; });
      objects[number] = bus_id.empty() ? nvswitch_peer : static_cast<std::int64_t>(card - cards_.begin());
    }
    Result<std::optional<std::vector<NvlinkDraft>>> nvlinks = nvlinks_of_distances(root, source_, objects);
    if (!nvlinks) {
      errors_.insert(errors_.end(), nvlinks.diagnostics().begin(), nvlinks.diagnostics().end());
      return;
    }
    draft_.nvlinks_known = nvlinks->has_value();
    if (!nvlinks->has_value()) return;
    draft_.nvlinks = **std::move(nvlinks);
    draft_.assumed.push_back("NVLinks: hwloc's bandwidths over 25 GB/s a link");
  }

  /// One host bridge a socket tells nothing apart.
  void drop_lone_host_bridges() {
    std::map<std::string, std::int64_t> most;
    for (const DeviceDraft& device : draft_.devices) {
      most[device.parent] = std::max(most[device.parent], device.host_bridge);
    }
    for (DeviceDraft& device : draft_.devices) {
      if (most[device.parent] < 2) device.host_bridge = 0;
    }
  }

  void finish() {
    std::stable_sort(cards_.begin(), cards_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::size_t number = 0;
    for (auto& [bus_id, card] : cards_) {
      card.name = "gpu" + std::to_string(number++);
      draft_.devices.push_back(std::move(card));
    }
    drop_lone_host_bridges();
    draft_.assumed.push_back("cards are numbered by bus id");
    if (several_nodes_) draft_.assumed.push_back("the NUMA nodes of a package are one socket");
    if (speeds_stated_) {
      draft_.assumed.push_back(
          "PCIe links: the widest that gives the payload rate hwloc states (Gen4 x8 reads as Gen3 x16)");
    }
  }

  const SourceText& source_;
  ServerDraft draft_;
  Diagnostics errors_;
  std::vector<std::pair<std::string, DeviceDraft>> cards_;  ///< by bus id
  std::map<std::string, std::string> objects_;              ///< hwloc's gp_index to bus id; empty for an NVSwitch
  std::int64_t host_bridges_ = 0;                           ///< of the package, so far
  std::size_t switches_ = 0;
  std::size_t nics_ = 0;
  bool several_nodes_ = false;
  bool speeds_stated_ = false;
};

}  // namespace

Result<ServerSpec> import_lstopo(const SourceText& source, const ImportOptions& options) {
  Result<ServerDraft> draft = LstopoReader(source).read();
  if (!draft) return draft.diagnostics();
  return finish_server(*std::move(draft), {source.file, 0, 0, ""}, options);
}

}  // namespace takt
