#include "topology/import/server_draft.hpp"

#include "base/text.hpp"
#include "topology/import/cpu_family.hpp"
#include "topology/import/link_catalog.hpp"
#include "topology/import/nvlink_plan.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace takt {
namespace {

constexpr std::int64_t default_lanes = 16;
constexpr std::int64_t default_generation = 4;  // cards that Takt does not know

class Finisher {
 public:
  Finisher(ServerDraft draft, const SourcePlace& place, const ImportOptions& options)
      : draft_(std::move(draft)), place_(place), options_(options), catalog_(options.link_types) {}

  Result<ServerSpec> run() {
    spec_.id = stem_of(place_.file);
    spec_.title = draft_.title;
    spec_.source = "imported from " + draft_.source;
    spec_.confidence = "medium";
    choose_cards();
    if (draft_.title.empty()) spec_.title = default_title();
    if (!errors_.empty()) return std::move(errors_);
    choose_cpus();
    add_sockets();
    add_devices(DeviceKind::pcie_switch);
    add_devices(DeviceKind::card);
    add_devices(DeviceKind::nic);
    add_pcie_links();
    add_socket_links();
    add_nvlinks();
    finish_assumptions();
    return Result<ServerSpec>(std::move(spec_), std::move(draft_.warnings));
  }

 private:
  void warn(std::string message, std::string hint = "") {
    draft_.warnings.push_back({Severity::warning, {place_.file, 0, 0, ""}, std::move(message), std::move(hint)});
  }

  void assume(std::string line) { spec_.assumed.push_back(std::move(line)); }

  /// Cards in card order.
  std::vector<DeviceDraft*> cards() {
    std::vector<DeviceDraft*> result;
    for (DeviceDraft& device : draft_.devices) {
      if (device.kind == DeviceKind::card) result.push_back(&device);
    }
    return result;
  }

  const CardSpec* spec_of(const std::string& card) const {
    const auto found = options_.cards.find(card);
    return found == options_.cards.end() ? nullptr : &found->second;
  }

  void choose_cards() {
    std::set<std::string> contradicted;
    std::vector<std::string> nameless;
    for (DeviceDraft* card : cards()) {
      if (!options_.card.empty()) {
        if (!card->card.empty() && card->card != options_.card) contradicted.insert(card->card);
        card->card = options_.card;
      }
      if (card->card.empty()) nameless.push_back(card->name);
    }
    if (!nameless.empty()) {
      errors_.push_back({Severity::error,
                         {place_.file, 0, 0, ""},
                         fmt::format("the source does not say which card {} {}", join(nameless, ", "),
                                     nameless.size() == 1 ? "is" : "are"),
                         "say it with --card, e.g. --card h200-nvl"});
      return;
    }
    for (const std::string& other : contradicted) {
      warn(fmt::format("the source names the cards {}, --card says {}: --card is used", other, options_.card));
    }
    if (contradicted.empty() && !options_.card.empty())
      assume(fmt::format("card: {}, as given with --card", options_.card));
    std::set<std::string> unknown;
    for (const DeviceDraft* card : cards()) {
      if (!spec_of(card->card)) unknown.insert(card->card);
    }
    for (const std::string& card : unknown) {
      warn(fmt::format("no card file describes {}: its links are assumed", card),
           fmt::format("add topologies/cards/{}.toml before a scenario uses this server", card));
    }
  }

  std::string default_title() {
    const std::vector<DeviceDraft*> all = cards();
    const std::string& card = all.front()->card;
    const CardSpec* spec = spec_of(card);
    return fmt::format("{}x {}, imported", all.size(), spec ? spec->name : card);
  }

  /// What the card's slot is where the source does not say.
  std::int64_t generation_of(const DeviceDraft& device) const {
    if (const CardSpec* spec = spec_of(device.card)) return spec->pcie_generation;
    const std::optional<CpuFamily> family = cpu_family(draft_.sockets.front().cpu);
    return family ? std::min(family->pcie_generation, default_generation) : default_generation;
  }

  std::int64_t newest_card_generation() {
    std::int64_t newest = 0;
    for (const DeviceDraft* card : cards()) {
      newest = std::max(newest, card->pcie_generation > 0 ? card->pcie_generation : generation_of(*card));
    }
    return newest > 0 ? newest : default_generation;
  }

  void choose_cpus() {
    bool assumed = false;
    for (SocketDraft& socket : draft_.sockets) {
      if (!options_.cpu.empty()) {
        socket.cpu = options_.cpu;
      } else if (socket.cpu.empty()) {
        socket.cpu = assumed_cpu_family(newest_card_generation());
        assumed = true;
      }
    }
    if (!assumed) return;
    assume(fmt::format("CPU family {}: the source does not name the CPU; the usual one for PCIe Gen{} cards (--cpu)",
                       draft_.sockets.front().cpu, newest_card_generation()));
  }

  void add_sockets() {
    for (const SocketDraft& draft : draft_.sockets) {
      DeviceSpec socket;
      socket.name = draft.name;
      socket.kind = DeviceKind::socket;
      socket.cpu = draft.cpu;
      socket.cores = draft.cores;
      socket.host_memory = draft.memory;
      DeviceSpec memory;
      memory.name = draft.name + " memory";
      memory.kind = DeviceKind::host_memory;
      memory.host_memory = draft.memory;
      spec_.devices.push_back(socket);
      spec_.devices.push_back(memory);
      LinkType type;
      type.id = "memory";
      type.kind = LinkKind::memory;
      type.nominal = type.effective = family_of(draft).memory_bandwidth;
      type.source = spec_.source;
      type.confidence = spec_.confidence;
      add_link(draft.name, memory.name, std::move(type), false);
    }
    assume(fmt::format("host memory bandwidth of a socket: {}, every channel populated; the source does not state it",
                       family_of(draft_.sockets.front()).memory));
  }

  /// The socket's family, or the assumed one where Takt does not know the family's name.
  static CpuFamily family_of(const SocketDraft& socket) {
    const std::optional<CpuFamily> family = cpu_family(socket.cpu);
    return family ? *family : *cpu_family(assumed_cpu_family(default_generation));
  }

  void add_devices(DeviceKind kind) {
    for (const DeviceDraft& draft : draft_.devices) {
      if (draft.kind != kind) continue;
      DeviceSpec device;
      device.name = draft.name;
      device.kind = kind;
      device.card = draft.card;
      device.nic_speed = draft.nic_speed;
      spec_.devices.push_back(std::move(device));
    }
  }

  void add_link(const std::string& from, const std::string& to, LinkType type, bool assumed) {
    LinkSpec link;
    link.from = from;
    link.to = to;
    link.type = std::move(type);
    link.assumed = assumed;
    spec_.links.push_back(std::move(link));
  }

  const DeviceDraft* find(const std::string& name) const {
    for (const DeviceDraft& device : draft_.devices) {
      if (device.name == name) return &device;
    }
    return nullptr;
  }

  /// The newest generation below a switch, for its uplink.
  std::int64_t generation_below(const std::string& name) const {
    std::int64_t newest = 0;
    for (const DeviceDraft& device : draft_.devices) {
      if (device.parent != name) continue;
      std::int64_t below = device.pcie_generation;
      if (below == 0 && device.kind == DeviceKind::pcie_switch) below = generation_below(device.name);
      if (below == 0 && device.kind == DeviceKind::card) below = generation_of(device);
      newest = std::max(newest, below);
    }
    return newest;
  }

  std::int64_t assumed_generation(const DeviceDraft& device, std::int64_t newest) const {
    if (device.kind == DeviceKind::card) return generation_of(device);
    const std::int64_t below = device.kind == DeviceKind::pcie_switch ? generation_below(device.name) : 0;
    return below > 0 ? below : newest;
  }

  void add_pcie_links() {
    const std::int64_t newest = newest_card_generation();
    std::size_t assumed = 0;
    std::vector<std::string> slow;
    for (DeviceDraft& device : draft_.devices) {
      const bool stated = device.pcie_generation > 0 && device.pcie_lanes > 0;
      if (!stated) ++assumed;
      if (device.pcie_generation == 0) device.pcie_generation = assumed_generation(device, newest);
      if (device.pcie_lanes == 0) device.pcie_lanes = default_lanes;
      if (stated && is_below_card(device)) slow.push_back(device.name);
      limit_to_card(device);
      add_link(device.parent, device.name, catalog_.pcie(device.pcie_generation, device.pcie_lanes), !stated);
      spec_.links.back().host_bridge = device.host_bridge;
    }
    if (!slow.empty()) {
      warn(fmt::format("the PCIe link of {} is slower than the card's own", join(slow, ", ")),
           "idle cards lower their links: take the file under load, or correct the links in the server file");
    }
    if (assumed == 0) return;
    assume(fmt::format("{} of {} PCIe links: x16 of the card's generation; the source does not state them", assumed,
                       draft_.devices.size()));
  }

  bool is_below_card(const DeviceDraft& device) const {
    const CardSpec* card = spec_of(device.card);
    return card && (device.pcie_generation < card->pcie_generation || device.pcie_lanes < card->pcie_lanes);
  }

  /// Virtual machines state link speeds that the card cannot have.
  void limit_to_card(DeviceDraft& device) {
    const CardSpec* card = spec_of(device.card);
    if (!card || (device.pcie_generation <= card->pcie_generation && device.pcie_lanes <= card->pcie_lanes)) return;
    warn(fmt::format("{} is linked by PCIe Gen{} x{} in the source, but {} is a Gen{} x{} card: the card's is used",
                     device.name, device.pcie_generation, device.pcie_lanes, device.card, card->pcie_generation,
                     card->pcie_lanes));
    device.pcie_generation = std::min(device.pcie_generation, card->pcie_generation);
    device.pcie_lanes = std::min(device.pcie_lanes, card->pcie_lanes);
  }

  void add_socket_links() {
    const auto& sockets = draft_.sockets;
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      for (std::size_t j = i + 1; j < sockets.size(); ++j) {
        add_link(sockets[i].name, sockets[j].name, catalog_.socket(family_of(sockets[i]).socket_link), true);
      }
    }
    if (sockets.size() < 2) return;
    assume(fmt::format("link between sockets: the one of {}; the source does not state it", sockets[0].cpu));
    if (sockets.size() > 2) {
      assume(
          fmt::format("{} NUMA nodes as {} sockets, each linked to each; nodes of one socket (NPS, a virtual machine) "
                      "are nearer than that",
                      sockets.size(), sockets.size()));
    }
  }

  void add_nvlinks() {
    const std::vector<DeviceDraft*> all = cards();
    const CardSpec* card = all.empty() ? nullptr : spec_of(all.front()->card);
    if (!draft_.nvlinks_known) return add_unknown_nvlinks(all, card);
    const std::optional<std::int64_t> links =
        card && card->nvlink_links > 0 ? std::optional(card->nvlink_links) : std::nullopt;
    std::vector<std::string> names;
    for (const DeviceDraft* device : all) names.push_back(device->name);
    NvlinkPlan plan = plan_nvlinks(draft_.nvlinks, std::move(names), links);
    for (std::string& line : plan.assumed) assume(std::move(line));
    for (std::string& message : plan.warnings) warn(std::move(message));
    if (all.empty()) return;
    const std::int64_t generation = nvlink_generation(card, *all.front());
    for (const auto& group : plan.bridges) add_bridge(all, group, generation);
    for (const NvlinkPlan::Pair& pair : plan.links) {
      add_link(all[pair.a]->name, all[pair.b]->name, catalog_.nvlink(generation, pair.count, card), false);
    }
    if (!plan.switched.empty()) add_switch(all, plan.switched.front(), generation);
    if (plan.switched.size() > 1) warn("a server file has one NVSwitch: that of the other cards is left out");
    if (!plan.links.empty() && card && card->nvlink_links == 0) {
      warn(fmt::format("NVLinks between cards that have none: {}; is --card right?", card->name));
    }
  }

  std::int64_t nvlink_generation(const CardSpec* card, const DeviceDraft& device) const {
    const std::int64_t capability = card ? card->compute_capability : device.compute_capability;
    if (nvlink_generation_of(capability) > 0) return nvlink_generation_of(capability);
    constexpr std::int64_t ampere = 3;
    return ampere;
  }

  void add_bridge(const std::vector<DeviceDraft*>& all, const std::vector<std::size_t>& group,
                  std::int64_t generation) {
    BridgeSpec bridge;
    for (const std::size_t card : group) bridge.cards.push_back(all[card]->name);
    bridge.link = catalog_.one_nvlink(generation, NvlinkUse::bridge, spec_of(all[group.front()]->card));
    bridge.source = draft_.source;
    spec_.bridges.push_back(std::move(bridge));
  }

  void add_switch(const std::vector<DeviceDraft*>& all, const std::vector<std::size_t>& group,
                  std::int64_t generation) {
    DeviceSpec device;
    device.name = "nvswitch";
    device.kind = DeviceKind::nvswitch;
    spec_.devices.push_back(device);
    LinkType type;
    if (const std::optional<LinkType> known =
            catalog_.one_nvlink(generation, NvlinkUse::board, spec_of(all[group.front()]->card))) {
      type = *known;
    } else {
      type.id = "nvswitch";
      type.source = spec_.source;
    }
    type.kind = LinkKind::nvswitch;
    for (const std::size_t card : group) add_link(all[card]->name, device.name, type, false);
  }

  /// Files for virtual machines name the PCI devices and leave the NVLinks to be found at run time.
  void add_unknown_nvlinks(const std::vector<DeviceDraft*>& all, const CardSpec* card) {
    if (!card || card->nvlink_links == 0 || all.size() < 2) return;
    if (card->nvlink_max_cards < static_cast<std::int64_t>(all.size()) || card->nvlink_max_cards <= bridge_limit) {
      warn(fmt::format("the source names no NVLinks, and {} may be bridged: none are assumed", card->name),
           "add [[bridge]] tables to the server file if there are bridges");
      return;
    }
    std::vector<std::size_t> group(all.size());
    for (std::size_t i = 0; i < group.size(); ++i) group[i] = i;
    assume(
        fmt::format("NVSwitch between all cards: {} comes on such boards; the source leaves NVLinks to be found at "
                    "run time",
                    card->name));
    add_switch(all, group, nvlink_generation(card, *all.front()));
  }

  void finish_assumptions() {
    for (std::string& line : draft_.assumed) assume(std::move(line));
  }

  static constexpr std::int64_t bridge_limit = 4;  // NVIDIA: a bridge joins at most four cards

  ServerDraft draft_;
  SourcePlace place_;
  const ImportOptions& options_;
  LinkCatalog catalog_;
  ServerSpec spec_;
  Diagnostics errors_;
};

}  // namespace

Result<ServerSpec> finish_server(ServerDraft draft, const SourcePlace& place, const ImportOptions& options) {
  return Finisher(std::move(draft), place, options).run();
}

std::string stem_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::size_t dot = name.find_last_of('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

}  // namespace takt
