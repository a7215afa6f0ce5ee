// NCCL's topology file: <system> holds <cpu> (a NUMA node), a <cpu> holds a tree of <pci>, a <pci> holds further <pci>
// if it is a bridge, <gpu> with <nvlink> if it is a card, <nic> with <net> if it is an adapter.
//
// Two kinds of such files exist. Dumps (NCCL_TOPO_DUMP_FILE) are complete. Files that clouds ship (NCCL_TOPO_FILE) hold
// only what a virtual machine hides, the PCI tree, and NCCL finds the rest at run time; what they leave out is assumed.
#include "base/text.hpp"
#include "config/xml.hpp"
#include "topology/import/cpu_family.hpp"
#include "topology/import/cpu_list.hpp"
#include "topology/import/link_catalog.hpp"
#include "topology/import/pci_ids.hpp"
#include "topology/import/server_draft.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <set>

namespace takt {
namespace {

/// A card as the file states it, before the cards are put in order.
struct CardElement {
  DeviceDraft draft;
  std::string bus_id;
  std::optional<std::int64_t> rank;
  std::vector<const XmlElement*> nvlinks;
};

class NcclFileReader {
 public:
  NcclFileReader(const SourceText& source, const ImportOptions& options) : source_(source), options_(options) {}

  Result<ServerDraft> read() {
    const Result<XmlElement> root = read_xml(source_);
    if (!root) return root.diagnostics();
    if (root->name != "system") {
      return Diagnostic{Severity::error, place_of(*root, source_),
                        fmt::format("the root element is <{}>, not <system>", root->name),
                        "is this a file that NCCL_TOPO_DUMP_FILE wrote?"};
    }
    draft_.source = "an NCCL topology file";
    check_one_host(*root);
    for (const XmlElement* cpu : cpus_in_numa_order(*root)) read_cpu(*cpu);
    if (errors_.empty() && cards_.empty()) refuse_without_cards(*root);
    if (!errors_.empty()) return std::move(errors_);
    put_cards_in_order();
    read_nvlinks();
    if (!errors_.empty()) return std::move(errors_);
    return std::move(draft_);
  }

 private:
  void error(const XmlElement& element, std::string message, std::string hint = "") {
    errors_.push_back({Severity::error, place_of(element, source_), std::move(message), std::move(hint)});
  }

  void warn(const XmlElement& element, std::string message) {
    draft_.warnings.push_back({Severity::warning, place_of(element, source_), std::move(message), ""});
  }

  /// A whole number; nothing if the attribute is absent or empty, an error if it is something else.
  std::optional<std::int64_t> integer(const XmlElement& element, std::string_view key) {
    const std::optional<std::string> text = element.attribute(key);
    if (!text || text->empty()) return std::nullopt;
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (failure == std::errc() && end == text->data() + text->size()) return value;
    error(element, fmt::format("{} of <{}> is \"{}\", not a whole number", key, element.name, *text));
    return std::nullopt;
  }

  std::uint32_t number(const XmlElement& element, std::string_view key) {
    const std::optional<std::string> text = element.attribute(key);
    if (!text || text->empty()) return 0;
    const std::optional<std::uint32_t> value = hexadecimal(*text);
    if (!value) error(element, fmt::format("{} of <{}> is \"{}\", not a hexadecimal number", key, element.name, *text));
    return value.value_or(0);
  }

  void check_one_host(const XmlElement& root) {
    std::set<std::string> hosts;
    for (const XmlElement& cpu : root.children) {
      hosts.insert(cpu.attribute("host_hash").value_or(""));
      if (hosts.size() < 2) continue;
      error(cpu, "the file holds more than one server (its CPUs differ in host_hash)",
            "dump the topology on one server, and write a cluster file for several");
      return;
    }
  }

  std::vector<const XmlElement*> cpus_in_numa_order(const XmlElement& root) {
    std::vector<std::pair<std::int64_t, const XmlElement*>> cpus;
    for (const XmlElement& cpu : root.children) {
      if (cpu.name != "cpu") continue;
      cpus.emplace_back(integer(cpu, "numaid").value_or(-1), &cpu);
    }
    if (cpus.empty()) error(root, "<system> holds no <cpu>", "NCCL writes one for each NUMA node with a device");
    std::stable_sort(cpus.begin(), cpus.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<const XmlElement*> ordered;
    std::vector<std::string> nodes;
    bool renumbered = false;
    for (const auto& [node, cpu] : cpus) {
      renumbered = renumbered || node != static_cast<std::int64_t>(ordered.size());
      ordered.push_back(cpu);
      nodes.push_back(std::to_string(node));
    }
    if (renumbered && nodes.size() > 1) {
      draft_.assumed.push_back(fmt::format("sockets cpu0, cpu1, ... are the NUMA nodes {}", join(nodes, ", ")));
    }
    return ordered;
  }

  void read_cpu(const XmlElement& cpu) {
    SocketDraft socket;
    socket.name = "cpu" + std::to_string(draft_.sockets.size());
    const std::string vendor = cpu.attribute("vendor").value_or("");
    const std::optional<std::int64_t> family = integer(cpu, "familyid");
    const std::optional<std::int64_t> model = integer(cpu, "modelid");
    if (family && model) {
      socket.cpu = cpu_family_id(vendor, *family, *model);
      if (socket.cpu.empty()) warn(cpu, fmt::format("unknown CPU: {} family {} model {}", vendor, *family, *model));
    } else if (cpu.attribute("arch") == "arm64") {
      socket.cpu = "nvidia-grace";
    }
    if (const std::optional<std::string> mask = cpu.attribute("affinity")) {
      if (const std::optional<std::string> list = list_of_mask(*mask)) socket.cores = cores_of_list(*list);
    }
    for (const XmlElement& child : cpu.children) {
      if (child.name == "pci") read_pci(child, socket.name);
      if (child.name == "nic") add_nic(child, child, socket.name);
    }
    draft_.sockets.push_back(std::move(socket));
  }

  void read_pci(const XmlElement& pci, const std::string& parent) {
    const std::string bus_id = pci.attribute("busid").value_or("");
    if (bus_id.empty()) error(pci, "<pci> has no busid");
    if (!bus_id.empty() && !bus_ids_.insert(bus_id).second) error(pci, fmt::format("a second <pci> {}", bus_id));
    if (!pci.attribute("class")) {
      if (!first_without_class_) first_without_class_ = &pci;
      return;
    }
    switch (pci_kind(number(pci, "class"), number(pci, "vendor"))) {
      case PciKind::bridge:
        return read_bridge(pci, parent);
      case PciKind::card:
        return read_card(pci, parent, bus_id);
      case PciKind::nic:
        return add_nic(pci, pci, parent);
      default:
        return;  // storage, NVSwitches: not a part of what Takt models
    }
  }

  void set_link(const XmlElement& pci, DeviceDraft& device) {
    const std::string speed = pci.attribute("link_speed").value_or("");
    double gigatransfers = 0.0;
    const auto [end, failure] = std::from_chars(speed.data(), speed.data() + speed.size(), gigatransfers);
    if (failure == std::errc()) {
      if (const auto generation = pcie_generation_of(gigatransfers))
        device.pcie_generation = *generation;
      else
        error(pci, fmt::format("link_speed \"{}\" is none of PCIe (2.5, 5, 8, 16, 32, 64 GT/s)", speed));
    }
    device.pcie_lanes = integer(pci, "link_width").value_or(0);
    constexpr std::int64_t widest = 32;
    if (device.pcie_lanes < 0 || device.pcie_lanes > widest) {
      error(pci, fmt::format("link_width {} is none of PCIe (1 to {} lanes)", device.pcie_lanes, widest));
    }
  }

  void read_bridge(const XmlElement& pci, const std::string& parent) {
    DeviceDraft device;
    device.name = "sw" + std::to_string(switches_++);
    device.kind = DeviceKind::pcie_switch;
    device.parent = parent;
    set_link(pci, device);
    const std::string name = device.name;
    draft_.devices.push_back(std::move(device));
    for (const XmlElement& child : pci.children) {
      if (child.name == "pci") read_pci(child, name);
      if (child.name == "nic") add_nic(child, child, name);
    }
  }

  void read_card(const XmlElement& pci, const std::string& parent, const std::string& bus_id) {
    CardElement card;
    card.bus_id = bus_id;
    card.draft.kind = DeviceKind::card;
    card.draft.parent = parent;
    card.draft.card = card_of_pci_device(number(pci, "vendor"), number(pci, "device"));
    set_link(pci, card.draft);
    for (const XmlElement& gpu : pci.children) {
      if (gpu.name != "gpu") continue;
      has_gpu_elements_ = true;
      card.rank = integer(gpu, "rank");
      card.draft.compute_capability = integer(gpu, "sm").value_or(0);
      if (card.draft.compute_capability > 0) check_sm(gpu, card.draft);
      for (const XmlElement& link : gpu.children) {
        if (link.name == "nvlink") card.nvlinks.push_back(&link);
      }
    }
    cards_.push_back(std::move(card));
  }

  /// A device number that contradicts the compute capability is not believed: test files copy one number everywhere.
  void check_sm(const XmlElement& gpu, DeviceDraft& card) {
    const auto known = options_.cards.find(card.card);
    if (known == options_.cards.end() || known->second.compute_capability == card.compute_capability) return;
    if (options_.card.empty()) {
      warn(gpu, fmt::format("the PCI device number says {}, but sm is {}: the number is not believed", card.card,
                            card.compute_capability));
    }
    card.card.clear();
  }

  void add_nic(const XmlElement& element, const XmlElement& link, const std::string& parent) {
    DeviceDraft device;
    device.name = "nic" + std::to_string(nics_++);
    device.kind = DeviceKind::nic;
    device.parent = parent;
    if (link.name == "pci") set_link(link, device);
    add_speed(element, device);
    draft_.devices.push_back(std::move(device));
  }

  /// Adds up the ports; NCCL states megabits a second.
  void add_speed(const XmlElement& element, DeviceDraft& device) {
    for (const XmlElement& child : element.children) {
      if (child.name == "nic") add_speed(child, device);
      if (child.name != "net") continue;
      constexpr double bytes_per_megabit = 1e6 / 8.0;
      const std::int64_t speed = integer(child, "speed").value_or(0);
      if (speed > 0) device.nic_speed += Bandwidth(static_cast<double>(speed) * bytes_per_megabit);
    }
  }

  void refuse_without_cards(const XmlElement& root) {
    if (first_without_class_) {
      error(*first_without_class_, "<pci> states no class, so the file does not say which devices are cards",
            "NCCL fills it in at run time: dump it there with NCCL_TOPO_DUMP_FILE");
      return;
    }
    error(root, "no card among the PCI devices (class 0x0300 or 0x0302)");
  }

  void put_cards_in_order() {
    const bool ranked =
        std::all_of(cards_.begin(), cards_.end(), [](const CardElement& c) { return c.rank.has_value(); });
    std::stable_sort(cards_.begin(), cards_.end(), [&](const CardElement& a, const CardElement& b) {
      return ranked ? *a.rank < *b.rank : a.bus_id < b.bus_id;
    });
    if (!ranked) draft_.assumed.push_back("cards are numbered by bus id: the file states no ranks");
    for (CardElement& card : cards_) {
      card.draft.name = "gpu" + std::to_string(numbers_.size());
      numbers_.emplace(card.bus_id, static_cast<std::int64_t>(numbers_.size()));
      draft_.devices.push_back(card.draft);
    }
  }

  void read_nvlinks() {
    draft_.nvlinks_known = has_gpu_elements_;
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> pairs;
    std::map<std::int64_t, std::int64_t> to_switch;
    std::int64_t lost = 0;
    for (const CardElement& card : cards_) {
      for (const XmlElement* link : card.nvlinks) {
        const std::int64_t number_of_card = numbers_.at(card.bus_id);
        const std::int64_t count = integer(*link, "count").value_or(0);
        if (count < 1) error(*link, "<nvlink> needs a count of at least 1");
        const auto peer = numbers_.find(link->attribute("target").value_or(""));
        constexpr std::uint32_t any_vendor_bridge = 0x0680;  // "other bridge device": NVSwitch
        constexpr unsigned interface_bits = 8;
        if (number(*link, "tclass") >> interface_bits == any_vendor_bridge) {
          to_switch[number_of_card] += count;
        } else if (peer == numbers_.end()) {
          lost += count;
        } else if (peer->second == number_of_card) {
          error(*link, "<nvlink> leads from a card to itself");
        } else {
          pairs[std::minmax(number_of_card, peer->second)] = count;
        }
      }
    }
    for (const auto& [card, count] : to_switch) draft_.nvlinks.push_back({card, -1, count});
    for (const auto& [pair, count] : pairs) draft_.nvlinks.push_back({pair.first, pair.second, count});
    if (lost == 0) return;
    draft_.warnings.push_back(
        {Severity::warning,
         {source_.file, 0, 0, ""},
         fmt::format("{} NVLinks lead to cards that are not in the file; they are left out", lost),
         "the dump was taken with a part of the cards"});
  }

  const SourceText& source_;
  const ImportOptions& options_;
  ServerDraft draft_;
  Diagnostics errors_;
  std::vector<CardElement> cards_;
  std::map<std::string, std::int64_t> numbers_;  // bus id -> card number
  std::set<std::string> bus_ids_;
  const XmlElement* first_without_class_ = nullptr;
  bool has_gpu_elements_ = false;
  std::size_t switches_ = 0;
  std::size_t nics_ = 0;
};

}  // namespace

Result<ServerSpec> import_nccl_xml(const SourceText& source, const ImportOptions& options) {
  Result<ServerDraft> draft = NcclFileReader(source, options).read();
  if (!draft) return draft.diagnostics();
  return finish_server(*std::move(draft), {source.file, 0, 0, ""}, options);
}

}  // namespace takt
