#include "collective/nccl/paths.hpp"

#include <algorithm>
#include <tuple>

#include "base/contract.hpp"
#include "collective/nccl/nic_affinity.hpp"
#include "collective/nccl/version_rules.hpp"

namespace takt::nccl {
namespace {

constexpr NcclSpeed within_device{5000000};  // N4

NcclPathType type_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink: return NcclPathType::nvl;
    case LinkKind::c2c: return NcclPathType::c2c;
    case LinkKind::pci: return NcclPathType::pix;
    case LinkKind::sys: return NcclPathType::sys;
    case LinkKind::net: return NcclPathType::loc;  // what lies behind the port is not part of a path
  }
  unreachable("unknown kind of link");
}

/// N10: the type of the path from `next` to the target that goes over `node`, from where `known` leads on.
NcclPathType type_over(const MachineGraph& graph, const Link& step, const Path& known) {
  const VertexKind node = graph.at(step.from).kind;
  const VertexKind next = graph.at(step.to).kind;
  NcclPathType type = type_of(step.kind);
  if (node == VertexKind::pci_switch && next == VertexKind::pci_switch) type = NcclPathType::pxb;
  if (step.kind == LinkKind::pci && (node == VertexKind::cpu || next == VertexKind::cpu)) type = NcclPathType::phb;
  const bool second_nvlink = known.type == NcclPathType::nvl && type == NcclPathType::nvl && known.hops() == 1;
  if (node == VertexKind::gpu && second_nvlink) type = NcclPathType::nvb;
  return std::max(known.type, type);
}

/// Data passes through a card only over NVLink from one other card to a third.
bool may_pass(const MachineGraph& graph, const Link& step, VertexIndex target, const Path& known) {
  if (step.from == target || graph.at(step.from).kind != VertexKind::gpu) return true;
  return step.kind == LinkKind::nvlink && graph.at(step.to).kind == VertexKind::gpu && known.hops() <= 1;
}

bool better(const Path& old, NcclPathType type, NcclSpeed speed, std::size_t hops) {
  if (type != old.type) return type < old.type;
  if (speed != old.speed) return speed > old.speed;
  return hops < old.hops();
}

/// Breadth-first from `target` outwards: fills in how every vertex reaches it.
void find_paths_to(VertexIndex target, const MachineGraph& graph, PathTable& paths) {
  paths(target, target) = {{}, within_device, NcclPathType::loc, HostBridgeTax::none};
  std::vector<VertexIndex> frontier{target};
  while (!frontier.empty()) {
    std::vector<VertexIndex> reached;
    for (const VertexIndex node : frontier) {
      for (const LinkIndex outward : graph.at(node).links) {
        const Link& step = graph.at(outward);
        const Path& known = paths(node, target);
        if (!may_pass(graph, step, target, known)) continue;
        const NcclPathType type = type_over(graph, step, known);
        const NcclSpeed speed = std::min(known.speed, step.speed);
        Path& path = paths(step.to, target);
        if (!better(path, type, speed, known.hops() + 1)) continue;
        std::vector<LinkIndex> links{step.reverse};
        links.insert(links.end(), known.links.begin(), known.links.end());
        path = {std::move(links), speed, type, HostBridgeTax::none};
        if (std::find(reached.begin(), reached.end(), step.to) == reached.end()) reached.push_back(step.to);
      }
    }
    frontier = std::move(reached);
  }
}

void find_all_paths(RoutedMachine& machine) {
  const MachineGraph& graph = machine.graph;
  for (const auto* targets : {&graph.cpus, &graph.gpus, &graph.nets}) {
    for (const VertexIndex target : *targets) find_paths_to(target, graph, machine.paths);
  }
  if (graph.nvswitch) find_paths_to(*graph.nvswitch, graph, machine.paths);
}

NcclPathType joined_type(NcclPathType a, NcclPathType b) {
  const NcclPathType far = std::max(a, b);
  return far == NcclPathType::phb && std::min(a, b) == NcclPathType::c2c ? NcclPathType::p2c : far;
}

/// Sends the traffic from `from` to `to` by way of `relay`.
void detour(PathTable& paths, VertexIndex from, VertexIndex relay, VertexIndex to) {
  const Path& first = paths(from, relay);
  const Path& second = paths(relay, to);
  Path path{first.links, std::min(first.speed, second.speed), joined_type(first.type, second.type),
            HostBridgeTax::none};
  path.links.insert(path.links.end(), second.links.begin(), second.links.end());
  paths(from, to) = std::move(path);
}

/// The CPU a card is nearest to: most bandwidth, then nearest type, then fewest hops.
VertexIndex local_cpu(const RoutedMachine& machine, VertexIndex gpu) {
  const auto nearness = [&](VertexIndex cpu) {
    const Path& path = machine.paths(gpu, cpu);
    return std::make_tuple(-path.speed.count(), path.type, path.hops());
  };
  const auto& cpus = machine.graph.cpus;
  return *std::min_element(cpus.begin(), cpus.end(),
                           [&](VertexIndex a, VertexIndex b) { return nearness(a) < nearness(b); });
}

/// N11: the farthest path type over which cards exchange directly.
NcclPathType p2p_limit(const RoutedMachine& machine) {
  const NcclSettings& settings = machine.settings;
  if (settings.p2p_disable == Switch::on) return NcclPathType::loc;
  if (settings.p2p_level) return *settings.p2p_level;
  const NcclCpu& cpu = machine.graph.cpu.front();
  const bool amd = cpu.architecture == CpuArchitecture::x86 && cpu.vendor == CpuVendor::amd;
  if (rules_of(settings.version).amd_p2p_any_distance == Switch::on) return amd ? NcclPathType::sys : NcclPathType::pxb;
  return amd && machine.graph.gpus.size() <= 2 ? NcclPathType::sys : NcclPathType::pxb;
}

/// N12b: both cards reach some port near them faster than each other.
bool network_is_faster(const RoutedMachine& machine, std::size_t a, std::size_t b) {
  if (machine.settings.net_disable_intra == Switch::on) return false;
  const NcclSpeed direct = machine.gpu_path(a, b).speed;
  const auto best_near = [&](std::size_t gpu) {
    NcclSpeed best{};
    for (std::size_t net = 0; net < machine.graph.nets.size(); ++net) {
      const Path& path = machine.path_to_net(gpu, net);
      if (path.type <= NcclPathType::pxb) best = std::max(best, path.speed);
    }
    return best;
  };
  return best_near(a) > direct && best_near(b) > direct;
}

/// The driver refuses peers on PCIe only.
bool peer_access(const RoutedMachine& machine, std::size_t a, std::size_t b) {
  if (machine.gpu_path(a, b).type <= NcclPathType::nvb) return true;
  return machine.graph.gpu[a].peer_access == PeerAccess::supported &&
         machine.graph.gpu[b].peer_access == PeerAccess::supported;
}

void decide_transport(RoutedMachine& machine, std::size_t from, std::size_t to) {
  Transport& transport = machine.transports[from * machine.graph.gpus.size() + to];
  if (from == to) {
    transport = Transport::itself;
    return;
  }
  const VertexIndex source = machine.graph.gpus[from], target = machine.graph.gpus[to];
  const Path direct = machine.paths(source, target);
  const bool p2p = direct.type <= p2p_limit(machine) && peer_access(machine, from, to);
  if (!p2p) detour(machine.paths, source, local_cpu(machine, target), target);
  const bool relayed_by_nvlink = p2p && direct.type == NcclPathType::nvb;
  transport = p2p ? Transport::p2p : Transport::shm;
  if (!relayed_by_nvlink && network_is_faster(machine, from, to)) transport = Transport::net;
  if (transport == Transport::shm && machine.settings.shm_disable == Switch::on) transport = Transport::net;
  if (transport == Transport::net) machine.paths(source, target).type = NcclPathType::net;
}

/// A card on a chip-to-chip link and a NIC on the same CPU are nearer than a host bridge says.
void shorten_c2c_to_nics(RoutedMachine& machine) {
  for (std::size_t gpu = 0; gpu < machine.graph.gpus.size(); ++gpu) {
    const VertexIndex card = machine.graph.gpus[gpu];
    const VertexIndex cpu = local_cpu(machine, card);
    for (const std::size_t net : nearest_nets(machine, gpu)) {
      const VertexIndex port = machine.graph.nets[net];
      if (joined_type(machine.paths(card, cpu).type, machine.paths(port, cpu).type) != NcclPathType::p2c) continue;
      for (Path* path : {&machine.paths(card, port), &machine.paths(port, card)}) {
        path->type = std::min(path->type, NcclPathType::p2c);
      }
    }
  }
}

/// PXN: sends to a far NIC by way of the card next to it (N14).
void relay_by_gpu_near_nic(RoutedMachine& machine, std::size_t gpu, std::size_t net) {
  const VersionRules& rules = rules_of(machine.settings.version);
  const std::size_t relay = gpu_near(machine, net);
  if (machine.settings.pxn_disable == Switch::on || relay == RoutedMachine::no_gpu || relay == gpu) return;
  const Path& relay_to_net = machine.path_to_net(relay, net);
  const Path& own = machine.path_to_net(gpu, net);
  const NcclPathType near = rules.pxn_by_c2c == Switch::on ? NcclPathType::p2c : NcclPathType::pxb;
  const NcclPathType far = rules.pxn_by_c2c == Switch::on ? NcclPathType::pxn : NcclPathType::pxb;
  if (relay_to_net.type > near || machine.gpu_path(relay, gpu).type > NcclPathType::nvl) return;
  if (rules.pxn_needs_rdma == Switch::on && !uses_direct_rdma(machine, relay, net, RdmaDirection::read)) return;
  if (relay_to_net.speed <= own.speed && own.type <= far) return;
  detour(machine.paths, machine.graph.gpus[gpu], machine.graph.gpus[relay], machine.graph.nets[net]);
  machine.paths(machine.graph.gpus[gpu], machine.graph.nets[net]).type = NcclPathType::pxn;
}

void route_to_nics(RoutedMachine& machine) {
  for (std::size_t net = 0; net < machine.graph.nets.size(); ++net) {
    const VertexIndex port = machine.graph.nets[net];
    for (std::size_t gpu = 0; gpu < machine.graph.gpus.size(); ++gpu) {
      const VertexIndex card = machine.graph.gpus[gpu];
      relay_by_gpu_near_nic(machine, gpu, net);
      const bool near = machine.paths(card, port).type < NcclPathType::phb;
      if (!near || uses_direct_rdma(machine, gpu, net, RdmaDirection::write)) continue;
      const VertexIndex cpu = local_cpu(machine, card);
      detour(machine.paths, port, cpu, card);
      detour(machine.paths, card, cpu, port);
    }
  }
}

/// N22: Intel host bridges cut card-to-card traffic into small packets.
void mark_intel_host_bridges(RoutedMachine& machine) {
  const MachineGraph& graph = machine.graph;
  const auto passes_intel = [&](const Path& path) {
    return std::any_of(path.links.begin(), path.links.end(), [&](LinkIndex link) {
      const Vertex& vertex = graph.at(graph.at(link).to);
      if (vertex.kind != VertexKind::cpu) return false;
      const NcclCpu& cpu = graph.cpu[vertex.position];
      return cpu.architecture == CpuArchitecture::x86 && cpu.vendor == CpuVendor::intel;
    });
  };
  for (const VertexIndex from : graph.gpus) {
    for (const auto* targets : {&graph.gpus, &graph.nets}) {
      for (const VertexIndex to : *targets) {
        Path& path = machine.paths(from, to);
        if (path.type == NcclPathType::phb && passes_intel(path)) path.tax = HostBridgeTax::intel;
      }
    }
  }
}

}  // namespace

std::string_view to_text(Transport transport) {
  switch (transport) {
    case Transport::itself: return "-";
    case Transport::p2p: return "P2P";
    case Transport::shm: return "SHM";
    case Transport::net: return "NET";
  }
  unreachable("unknown transport");
}

bool uses_direct_rdma(const RoutedMachine& machine, std::size_t gpu, std::size_t net, RdmaDirection direction) {
  const MachineGraph& graph = machine.graph;
  const NcclGpu& card = graph.gpu[gpu];
  if (graph.net[net].direct_rdma == DirectRdma::unsupported || card.direct_rdma == DirectRdma::unsupported) {
    return false;
  }
  if (direction == RdmaDirection::read && card.compute_capability < 80) {
    bool nvlink = graph.gpus.size() == 1;  // a single card has no other PCIe flows to disturb
    for (std::size_t other = 0; other < graph.gpus.size(); ++other) {
      if (other != gpu && machine.gpu_path(gpu, other).type == NcclPathType::nvl) nvlink = true;
    }
    if (!nvlink) return false;
  }
  NcclPathType distance = machine.path_to_net(gpu, net).type;
  if (distance == NcclPathType::pxn) {
    const std::size_t relay = gpu_near(machine, net);
    distance = machine.path_to_net(relay, net).type;
  }
  return distance <= machine.settings.net_gdr_level.value_or(NcclPathType::p2c);
}

RoutedMachine route(const NcclSystem& system, const NcclSettings& settings) {
  expects(!system.cpus.empty(), "a server has a CPU");
  MachineGraph graph = build_machine_graph(system, settings.version);
  PathTable paths(graph.vertices.size());
  const std::size_t cards = graph.gpus.size();
  RoutedMachine machine{std::move(graph), std::move(paths), std::vector<Transport>(cards * cards), {}, settings};
  find_all_paths(machine);
  for (std::size_t to = 0; to < cards; ++to) {
    for (std::size_t from = 0; from < cards; ++from) decide_transport(machine, from, to);
  }
  shorten_c2c_to_nics(machine);
  route_to_nics(machine);
  mark_intel_host_bridges(machine);
  for (std::size_t net = 0; net < machine.graph.nets.size(); ++net) {
    machine.nearest_gpu.push_back(gpu_near(machine, net));
  }
  return machine;
}

std::vector<std::vector<std::size_t>> local_groups(const RoutedMachine& machine) {
  const std::size_t cards = machine.graph.gpus.size();
  std::vector<std::size_t> first(cards);
  for (std::size_t gpu = 0; gpu < cards; ++gpu) {
    first[gpu] = gpu;
    for (std::size_t other = 0; other < gpu; ++other) {
      if (machine.gpu_path(gpu, other).type < NcclPathType::net) first[gpu] = std::min(first[gpu], first[other]);
    }
  }
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t head = 0; head < cards; ++head) {
    std::vector<std::size_t> group;
    for (std::size_t gpu = 0; gpu < cards; ++gpu) {
      if (first[gpu] == head) group.push_back(gpu);
    }
    if (!group.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace takt::nccl
