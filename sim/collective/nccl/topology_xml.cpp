#include "collective/nccl/topology_xml.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "config/xml.hpp"

namespace takt {
namespace {

/// The children of that name, in file order.
std::vector<const XmlElement*> children_named(const XmlElement& element, std::string_view name) {
  std::vector<const XmlElement*> found;
  for (const XmlElement& child : element.children) {
    if (child.name == name) found.push_back(&child);
  }
  return found;
}

bool has_child(const XmlElement& element, std::string_view name) { return !children_named(element, name).empty(); }

std::string text_or_none(const XmlElement& element, std::string_view attribute) {
  return element.attribute(attribute).value_or(std::string());
}

/// Typed attributes of elements; what is missing or malformed becomes a diagnostic at the element.
class Elements {
 public:
  explicit Elements(const SourceText& source) : source_(source) {}

  void error(const XmlElement& at, std::string message, std::string hint = {}) {
    diagnostics_.push_back({Severity::error, place_of(at, source_), std::move(message), std::move(hint)});
  }
  void warning(const XmlElement& at, std::string message) {
    diagnostics_.push_back({Severity::warning, place_of(at, source_), std::move(message), {}});
  }

  std::string text_of(const XmlElement& element, std::string_view attribute) {
    const std::optional<std::string> value = element.attribute(attribute);
    if (!value) error(element, fmt::format("<{}> has no attribute '{}'", element.name, attribute));
    return value.value_or(std::string());
  }

  std::int64_t integer(const XmlElement& element, std::string_view attribute) {
    const std::string value = text_of(element, attribute);
    if (value.empty()) return 0;
    const auto number = parse(value);
    if (!number) error(element, fmt::format("'{}' of <{}> is not a number: '{}'", attribute, element.name, value));
    return number.value_or(0);
  }

  std::int64_t integer_or(const XmlElement& element, std::string_view attribute, std::int64_t otherwise) {
    return element.attribute(attribute) ? integer(element, attribute) : otherwise;
  }

  double decimal_or(const XmlElement& element, std::string_view attribute, double otherwise) {
    const std::optional<std::string> value = element.attribute(attribute);
    if (!value) return otherwise;
    double number = 0.0;
    const char* end = value->data() + value->size();
    const auto result = std::from_chars(value->data(), end, number);
    if (result.ec == std::errc{} && result.ptr == end) return number;
    error(element, fmt::format("'{}' of <{}> is not a number: '{}'", attribute, element.name, *value));
    return otherwise;
  }

  Diagnostics& diagnostics() { return diagnostics_; }

  /// Decimal, or hexadecimal after "0x".
  static std::optional<std::int64_t> parse(std::string_view value) {
    const bool hexadecimal = value.starts_with("0x");
    if (hexadecimal) value.remove_prefix(2);
    std::uint64_t large = 0;
    std::int64_t number = 0;
    const char* end = value.data() + value.size();
    const auto result = hexadecimal ? std::from_chars(value.data(), end, large, 16)
                                    : std::from_chars(value.data(), end, number, 10);
    if (result.ec != std::errc{} || result.ptr != end) return std::nullopt;
    return hexadecimal ? static_cast<std::int64_t>(large) : number;
  }

 private:
  const SourceText& source_;
  Diagnostics diagnostics_;
};

/// N1; a rate that NCCL does not know counts as generation 3.
PciGeneration generation_of(std::string_view rate) {
  constexpr std::array<std::pair<std::string_view, PciGeneration>, 7> rates{{{"2.5 GT/s", PciGeneration::gen1},
                                                                              {"5 GT/s", PciGeneration::gen2},
                                                                              {"5.0 GT/s", PciGeneration::gen2},
                                                                              {"8", PciGeneration::gen3},
                                                                              {"16", PciGeneration::gen4},
                                                                              {"32", PciGeneration::gen5},
                                                                              {"64", PciGeneration::gen6}}};
  for (const auto& [prefix, generation] : rates) {
    if (rate.starts_with(prefix)) return generation;
  }
  return PciGeneration::gen3;
}

/// The PCIe tree of a topology XML, element by element.
class TopologyReader {
 public:
  explicit TopologyReader(Elements& elements) : elements_(elements) {}

  NcclSystem read(const XmlElement& root) {
    for (const XmlElement* cpu : children_named(root, "cpu")) read_cpu(*cpu);
    for (const auto& [position, gpu] : gpu_elements_) read_nvlinks(position, *gpu);
    if (system_.cpus.empty()) elements_.error(root, "the topology has no <cpu>");
    if (system_.gpus.empty() && !system_.cpus.empty()) {
      elements_.error(root, "no card of the topology takes part", "each <gpu> that takes part has a rank");
    }
    return std::move(system_);
  }

 private:
  void read_cpu(const XmlElement& element) {
    NcclCpu cpu;
    cpu.numa = elements_.integer(element, "numaid");
    const std::string architecture = elements_.text_of(element, "arch");
    cpu.architecture = architecture == "arm64"    ? CpuArchitecture::arm
                       : architecture == "ppc64" ? CpuArchitecture::power
                                                 : CpuArchitecture::x86;
    if (cpu.architecture == CpuArchitecture::x86) {
      const std::string vendor = elements_.text_of(element, "vendor");
      cpu.vendor = vendor == "GenuineIntel"                                      ? CpuVendor::intel
                   : vendor == "AuthenticAMD"                                    ? CpuVendor::amd
                   : vendor == "CentaurHauls" || vendor == "  Shanghai  " ? CpuVendor::zhaoxin
                                                                                 : CpuVendor::other;
      cpu.family = elements_.integer_or(element, "familyid", 0);
      cpu.model = elements_.integer_or(element, "modelid", 0);
    }
    const std::size_t position = system_.cpus.size();
    system_.cpus.push_back(cpu);
    read_children(element, PciSlot::Above::cpu, position);
    for (const XmlElement* nic : children_named(element, "nic")) {
      // An adapter without a place in the PCIe tree does not limit its ports.
      constexpr NcclSpeed unlimited{5000000};  // N4
      read_nic(*nic, {PciSlot::Above::cpu, position, unlimited});
    }
  }

  void read_children(const XmlElement& element, PciSlot::Above above, std::size_t position) {
    for (const XmlElement* pci : children_named(element, "pci")) read_pci(*pci, above, position);
  }

  void read_pci(const XmlElement& element, PciSlot::Above above, std::size_t position) {
    const std::int64_t width = elements_.integer_or(element, "link_width", 0);
    constexpr std::int64_t default_width = 16;  // N1
    const PciSlot slot{above, position,
                       pci_speed(generation_of(text_or_none(element, "link_speed")),
                                 width == 0 ? default_width : width)};
    if (has_child(element, "gpu")) {
      for (const XmlElement* gpu : children_named(element, "gpu")) read_gpu(*gpu, slot, text_or_none(element, "busid"));
    } else if (has_child(element, "nic")) {
      for (const XmlElement* nic : children_named(element, "nic")) read_nic(*nic, slot);
    } else if (const std::string kind = text_or_none(element, "class");
               !kind.starts_with("0x03") && !kind.starts_with("0x02")) {
      system_.switches.push_back({slot, device_of(element)});
      read_children(element, PciSlot::Above::pci_switch, system_.switches.size() - 1);
    }
  }

  std::uint64_t device_of(const XmlElement& element) {
    std::uint64_t device = 0;
    for (const char* part : {"vendor", "device", "subsystem_vendor", "subsystem_device"}) {
      const auto value = Elements::parse(text_or_none(element, part));
      device = (device << 16) | (static_cast<std::uint64_t>(value.value_or(0)) & 0xffff);
    }
    return device;
  }

  void read_gpu(const XmlElement& element, const PciSlot& slot, const std::string& bus) {
    if (!element.attribute("rank")) return;
    NcclGpu gpu;
    gpu.slot = slot;
    gpu.rank = elements_.integer(element, "rank");
    gpu.device = elements_.integer(element, "dev");
    gpu.compute_capability = elements_.integer(element, "sm");
    gpu.direct_rdma = elements_.integer_or(element, "gdr", 0) != 0 ? DirectRdma::supported : DirectRdma::unsupported;
    for (const XmlElement* link : children_named(element, "c2c")) {
      gpu.c2c += NcclSpeed(elements_.integer(*link, "count") * elements_.integer(*link, "bw"));
    }
    gpu_by_bus_[bus] = system_.gpus.size();
    gpu_elements_.emplace_back(system_.gpus.size(), &element);
    system_.gpus.push_back(std::move(gpu));
  }

  void read_nic(const XmlElement& element, const PciSlot& slot) {
    NcclNic nic{slot, {}};
    for (const XmlElement* port : children_named(element, "net")) {
      if (port->attribute("dev") && elements_.integer_or(*port, "net", 1) != 0) nic.nets.push_back(read_net(*port));
    }
    if (!nic.nets.empty()) system_.nics.push_back(std::move(nic));
  }

  NcclNet read_net(const XmlElement& port) {
    NcclNet net;
    net.name = text_or_none(port, "name");
    net.device = elements_.integer(port, "dev");
    constexpr std::int64_t default_megabits = 10000;  // N4
    std::int64_t megabits = elements_.integer_or(port, "speed", 0);
    if (megabits <= 0) megabits = default_megabits;
    net.speed = NcclSpeed(megabits / 8);
    net.latency = elements_.decimal_or(port, "latency", 0.0);
    net.port = elements_.integer_or(port, "port", 0);
    net.asic = static_cast<std::uint64_t>(elements_.integer_or(port, "guid", net.device));
    net.direct_rdma = elements_.integer_or(port, "gdr", 0) != 0 ? DirectRdma::supported : DirectRdma::unsupported;
    return net;
  }

  void read_nvlinks(std::size_t position, const XmlElement& gpu) {
    for (const XmlElement* link : children_named(gpu, "nvlink")) {
      const std::int64_t count = elements_.integer(*link, "count");
      const std::string target_class = text_or_none(*link, "tclass");
      if (target_class.starts_with("0x03")) {
        const auto target = gpu_by_bus_.find(text_or_none(*link, "target"));
        if (target == gpu_by_bus_.end()) continue;  // the other card takes no part
        system_.gpus[position].nvlinks.push_back({GpuEnd{target->second}, count});
      } else if (target_class.starts_with("0x068000")) {
        system_.gpus[position].nvlinks.push_back({NvSwitchEnd{}, count});
      } else {
        elements_.warning(*link, fmt::format("NVLinks to a device of class '{}' are ignored", target_class));
      }
    }
  }

  Elements& elements_;
  NcclSystem system_;
  std::map<std::string, std::size_t> gpu_by_bus_;
  std::vector<std::pair<std::size_t, const XmlElement*>> gpu_elements_;
};

/// Some Broadcom switches show themselves as two levels although every port has full bandwidth. Which generation of
/// them `device` is, as the upper (0) or lower (1) level; 0 for all others. Device numbers: NCCL's own rule.
int two_level_broadcom(std::uint64_t device, std::uint64_t level) {
  constexpr std::uint64_t family = 0xfffffffffffff000;
  if ((device & family) == 0x1000c0101000a000) return 4;
  if ((device & family) == (0x1000c03010000000 | level * 0x1000)) return 5;
  return 0;
}

/// Hangs what is below the lower level of such a switch directly below the upper.
void flatten_broadcom_switches(NcclSystem& system) {
  std::vector<std::size_t> instead(system.switches.size());
  for (std::size_t i = 0; i < instead.size(); ++i) instead[i] = i;
  for (std::size_t i = 0; i < system.switches.size(); ++i) {  // parents come before children
    const PciSlot& slot = system.switches[i].slot;
    if (slot.above != PciSlot::Above::pci_switch || instead[slot.position] != slot.position) continue;
    const int upper = two_level_broadcom(system.switches[slot.position].device, 0);
    if (upper != 0 && two_level_broadcom(system.switches[i].device, 1) == upper) instead[i] = slot.position;
  }
  std::vector<std::size_t> new_position(instead.size());
  std::vector<NcclPciSwitch> kept;
  for (std::size_t i = 0; i < instead.size(); ++i) {
    if (instead[i] != i) continue;
    new_position[i] = kept.size();
    kept.push_back(system.switches[i]);
  }
  const auto move = [&](PciSlot& slot) {
    if (slot.above == PciSlot::Above::pci_switch) slot.position = new_position[instead[slot.position]];
  };
  for (NcclPciSwitch& pci_switch : kept) move(pci_switch.slot);
  for (NcclGpu& gpu : system.gpus) move(gpu.slot);
  for (NcclNic& nic : system.nics) move(nic.slot);
  system.switches = std::move(kept);
}

NcclPathType read_type(Elements& elements, const XmlElement& element, std::string_view attribute) {
  const std::string text = elements.text_of(element, attribute);
  const auto type = path_type_from_text(text);
  if (!type) elements.error(element, fmt::format("'{}' is no type of path: '{}'", attribute, text));
  return type.value_or(NcclPathType::sys);
}

NcclFileGraph read_graph(Elements& elements, const XmlElement& element) {
  NcclFileGraph graph;
  graph.id = elements.integer(element, "id");
  graph.pattern = elements.integer(element, "pattern");
  graph.cross_nic = elements.integer_or(element, "crossnic", 0);
  graph.same_channels = elements.integer_or(element, "samechannels", 1);
  graph.speed_intra = speed_from_gigabytes(elements.decimal_or(element, "speedintra", 0.0));
  graph.speed_inter = speed_from_gigabytes(elements.decimal_or(element, "speedinter", 0.0));
  graph.latency_inter = elements.decimal_or(element, "latencyinter", 0.0);
  graph.type_intra = read_type(elements, element, "typeintra");
  graph.type_inter = read_type(elements, element, "typeinter");
  for (const XmlElement* channel : children_named(element, "channel")) {
    NcclFileChannel read;
    for (const XmlElement& device : channel->children) {
      // Device numbers of a graph file are hexadecimal, with or without "0x".
      std::string number = elements.text_of(device, "dev");
      if (!number.starts_with("0x")) number = "0x" + number;
      const auto value = Elements::parse(number);
      if (!value) elements.error(device, fmt::format("'dev' of <{}> is not a number", device.name));
      (device.name == "net" ? read.nets : read.devices).push_back(value.value_or(0));
    }
    graph.channels.push_back(std::move(read));
  }
  return graph;
}

}  // namespace

Result<NcclSystem> read_nccl_topology(const SourceText& source) {
  const Result<XmlElement> root = read_xml(source);
  if (!root) return root.diagnostics();
  Elements elements(source);
  if (root->name != "system") {
    elements.error(*root, fmt::format("an NCCL topology starts with <system>, not <{}>", root->name));
    return std::move(elements.diagnostics());
  }
  NcclSystem system = TopologyReader(elements).read(*root);
  if (has_error(elements.diagnostics())) return std::move(elements.diagnostics());
  flatten_broadcom_switches(system);
  return {std::move(system), std::move(elements.diagnostics())};
}

Result<NcclGraphFile> read_nccl_graph_file(const SourceText& source) {
  const Result<XmlElement> root = read_xml(source);
  if (!root) return root.diagnostics();
  Elements elements(source);
  if (root->name != "graphs") {
    elements.error(*root, fmt::format("an NCCL graph file starts with <graphs>, not <{}>", root->name));
  }
  NcclGraphFile graphs;
  for (const XmlElement* graph : children_named(*root, "graph")) graphs.graphs.push_back(read_graph(elements, *graph));
  if (has_error(elements.diagnostics())) return std::move(elements.diagnostics());
  return {std::move(graphs), std::move(elements.diagnostics())};
}

}  // namespace takt
