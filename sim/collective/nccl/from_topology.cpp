#include "collective/nccl/from_topology.hpp"

#include "base/contract.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace takt {
namespace {

struct CpuFamily {
  std::string_view prefix;
  CpuArchitecture architecture;
  CpuVendor vendor;
  std::int64_t family, model;
};

// Family and model as the processors report them (CPUID); the first prefix that fits counts. An Intel CPU that is not
// listed is taken for a Sapphire Rapids.
constexpr std::array<CpuFamily, 10> cpu_families{{
    {"intel-bdw", CpuArchitecture::x86, CpuVendor::intel, 6, 0x4F},
    {"intel-skl", CpuArchitecture::x86, CpuVendor::intel, 6, 0x55},
    {"intel-clx", CpuArchitecture::x86, CpuVendor::intel, 6, 0x55},
    {"intel-icx", CpuArchitecture::x86, CpuVendor::intel, 6, 0x6A},
    {"intel-emr", CpuArchitecture::x86, CpuVendor::intel, 6, 0xCF},
    {"intel-gnr", CpuArchitecture::x86, CpuVendor::intel, 6, 0xAD},
    {"intel", CpuArchitecture::x86, CpuVendor::intel, 6, 0x8F},
    {"amd", CpuArchitecture::x86, CpuVendor::amd, 25, 0x11},
    {"arm", CpuArchitecture::arm, CpuVendor::other, 0, 0},
    {"grace", CpuArchitecture::arm, CpuVendor::other, 0, 0},
}};

NcclCpu cpu_of(const Device& socket) {
  NcclCpu cpu;
  cpu.numa = socket.socket;
  const auto known = std::find_if(cpu_families.begin(), cpu_families.end(), [&](const CpuFamily& family) {
    return std::string_view(socket.cpu).starts_with(family.prefix);
  });
  if (known == cpu_families.end()) return cpu;
  cpu.architecture = known->architecture;
  cpu.vendor = known->vendor;
  cpu.family = known->family;
  cpu.model = known->model;
  return cpu;
}

NcclSpeed megabytes(Bandwidth bandwidth) {
  return NcclSpeed(static_cast<std::int64_t>(bandwidth.count() / 1e6 + 0.5));
}

NcclSpeed slot_speed(const Link& link) {
  const std::int64_t generation = std::clamp<std::int64_t>(link.generation, 1, 6);
  const std::int64_t lanes = link.lanes > 0 ? link.lanes : 16;  // N1
  return pci_speed(static_cast<PciGeneration>(generation - 1), lanes);
}

/// The devices of one server, and the links by the device they leave.
class ServerReader {
 public:
  ServerReader(const Topology& topology, const std::vector<LinkId>& links) : topology_(topology) {
    for (const LinkId link : links) links_[topology.link_source(link)].push_back(link);
  }

  /// The cards at `cards`, with the ranks beside them, in that order; nothing if the server is not one NCCL knows.
  std::optional<NcclSystem> read(const std::vector<std::pair<VertexId, std::int64_t>>& cards) {
    place_pci_tree();
    const bool all_placed =
        std::all_of(cards.begin(), cards.end(), [&](const auto& card) { return slots_.contains(card.first); });
    if (!all_placed) return std::nullopt;
    for (const auto& [card, rank] : cards) position_of_card_[card] = position_of_card_.size();
    for (const auto& [card, rank] : cards) system_.gpus.push_back(gpu_of(card, rank));
    for (const auto& [vertex, links] : links_) {
      if (topology_.device(vertex).kind == DeviceKind::nic) add_nic(vertex);
    }
    return std::move(system_);
  }

 private:
  /// From the sockets downwards: every device on PCIe gets the device above it.
  void place_pci_tree() {
    std::vector<VertexId> frontier;
    for (const auto& [vertex, links] : links_) {
      if (topology_.device(vertex).kind != DeviceKind::socket) continue;
      // Root complexes that chip fabric joins are one NUMA domain, and one CPU to NCCL.
      const auto [cpu, is_new] = cpu_of_numa_.try_emplace(topology_.device(vertex).socket, system_.cpus.size());
      if (is_new) system_.cpus.push_back(cpu_of(topology_.device(vertex)));
      switch_or_cpu_[vertex] = {PciSlot::Above::cpu, cpu->second, {}};
      frontier.push_back(vertex);
    }
    for (std::size_t next = 0; next < frontier.size(); ++next) {
      for (const LinkId id : links_[frontier[next]]) {
        const Link& link = topology_.link(id);
        const VertexId below = topology_.link_target(id);
        if (link.kind != LinkKind::pcie || slots_.contains(below) || switch_or_cpu_.contains(below)) continue;
        PciSlot slot = switch_or_cpu_.at(frontier[next]);
        slot.speed = slot_speed(link);
        slots_[below] = slot;
        if (topology_.device(below).kind != DeviceKind::pcie_switch) continue;
        switch_or_cpu_[below] = {PciSlot::Above::pci_switch, system_.switches.size(), {}};
        system_.switches.push_back({slot, 0});
        frontier.push_back(below);
      }
    }
  }

  NcclGpu gpu_of(VertexId card, std::int64_t rank) {
    const CardInstance& instance = topology_.cards()[static_cast<std::size_t>(topology_.device(card).card)];
    const CardSpec& spec = topology_.card_spec(instance);
    const PeerToPeerSpec& state = topology_.server_spec().peer_to_peer;
    NcclGpu gpu;
    gpu.slot = slots_.at(card);
    gpu.rank = rank;
    gpu.device = number_in_server(instance);
    gpu.compute_capability = spec.compute_capability;
    const bool writes_to_peers = !state.iommu && spec.pcie_peer_to_peer;
    gpu.peer_access = writes_to_peers ? PeerAccess::supported : PeerAccess::refused;
    gpu.direct_rdma = writes_to_peers ? DirectRdma::supported : DirectRdma::unsupported;
    for (const LinkId id : links_.at(card)) {
      const Link& link = topology_.link(id);
      if (link.kind == LinkKind::nvswitch) gpu.nvlinks.push_back({NvSwitchEnd{}, link.lanes});
      const auto other = position_of_card_.find(topology_.link_target(id));
      if (link.kind == LinkKind::nvlink && other != position_of_card_.end()) {
        gpu.nvlinks.push_back({GpuEnd{other->second}, link.lanes});
      }
    }
    return gpu;
  }

  std::int64_t number_in_server(const CardInstance& instance) const {
    const auto& all = topology_.cards();
    return std::count_if(all.begin(), all.end(), [&](const CardInstance& other) {
      return other.server == instance.server && other.number < instance.number;
    });
  }

  void add_nic(VertexId vertex) {
    if (!slots_.contains(vertex)) return;
    const Device& device = topology_.device(vertex);
    NcclNet net;
    net.name = device.name.substr(device.name.find('/') + 1);  // equal servers have equal ports
    net.device = static_cast<std::int64_t>(system_.nics.size());
    net.asic = static_cast<std::uint64_t>(net.device);
    net.direct_rdma = DirectRdma::supported;
    net.speed = nic_speed(vertex, device.name);
    system_.nics.push_back({slots_.at(vertex), {net}});
  }

  /// As the cluster's network states it, else as the server's file does, else what NCCL takes for granted.
  NcclSpeed nic_speed(VertexId vertex, const std::string& name) const {
    constexpr NcclSpeed unknown{1250};  // N4: 10 Gb/s
    for (const LinkId id : links_.at(vertex)) {
      const Link& link = topology_.link(id);
      if (link.kind == LinkKind::network && link.nominal.count() > 0.0) return megabytes(link.nominal);
    }
    for (const DeviceSpec& device : topology_.server_spec().devices) {
      const bool same = name == device.name || name.ends_with("/" + device.name);
      if (same && device.nic_speed.count() > 0.0) return megabytes(device.nic_speed);
    }
    return unknown;
  }

  const Topology& topology_;
  std::map<VertexId, std::vector<LinkId>> links_;
  std::map<VertexId, PciSlot> slots_, switch_or_cpu_;
  std::map<VertexId, std::size_t> position_of_card_;
  std::map<std::int32_t, std::size_t> cpu_of_numa_;
  NcclSystem system_;
};

}  // namespace

LinksByServer links_by_server(const Topology& topology) {
  LinksByServer links(static_cast<std::size_t>(topology.server_count()));
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const std::int32_t server = topology.device(topology.link_source(id_at<LinkId>(i))).server;
    if (server >= 0) links.at(static_cast<std::size_t>(server)).push_back(id_at<LinkId>(i));
  }
  return links;
}

std::vector<NcclSystem> nccl_systems(std::span<const VertexId> members, const Topology& topology,
                                     const LinksByServer& links) {
  expects(!members.empty(), "a communicator has members");
  std::vector<std::int32_t> servers;
  std::map<std::int32_t, std::vector<std::pair<VertexId, std::int64_t>>> cards;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    const std::int32_t server = topology.device(members[rank]).server;
    if (!cards.contains(server)) servers.push_back(server);
    cards[server].emplace_back(members[rank], static_cast<std::int64_t>(rank));
  }
  std::vector<NcclSystem> systems;
  for (const std::int32_t server : servers) {
    // NCCL numbers cards as the bus does; ranks may be in another order.
    std::sort(cards[server].begin(), cards[server].end());
    std::optional<NcclSystem> system =
        ServerReader(topology, links.at(static_cast<std::size_t>(server))).read(cards[server]);
    if (!system) return {};
    systems.push_back(*std::move(system));
  }
  return systems;
}

std::vector<NcclSystem> nccl_systems(std::span<const VertexId> members, const Topology& topology) {
  return nccl_systems(members, topology, links_by_server(topology));
}

NcclSettings with_peer_to_peer_of(NcclSettings settings, const ServerSpec& server) {
  const bool stated = server.places.contains("peer_to_peer.level") || server.peer_to_peer.level != "PXB";
  if (stated && !settings.p2p_level) settings.p2p_level = path_type_from_text(server.peer_to_peer.level);
  if (!server.peer_to_peer.enabled) settings.p2p_disable = Switch::on;
  return settings;
}

}  // namespace takt
