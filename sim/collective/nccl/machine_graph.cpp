#include "collective/nccl/machine_graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/contract.hpp"
#include "collective/nccl/version_rules.hpp"

namespace takt::nccl {
namespace {

/// Adds vertices and links to a graph and keeps each vertex' links in NCCL's order.
class GraphBuilder {
 public:
  VertexIndex add_vertex(VertexKind kind, std::size_t position) {
    graph_.vertices.push_back({kind, position, {}});
    return id_at<VertexIndex>(graph_.vertices.size() - 1);
  }

  void connect(VertexIndex a, VertexIndex b, LinkKind kind, NcclSpeed speed) {
    const auto forward = id_at<LinkIndex>(graph_.links.size());
    const auto backward = id_at<LinkIndex>(graph_.links.size() + 1);
    graph_.links.push_back({a, b, backward, kind, speed});
    graph_.links.push_back({b, a, forward, kind, speed});
    insert_by_speed(a, forward);
    insert_by_speed(b, backward);
  }

  /// The link towards the CPU is looked at last.
  void move_last(VertexIndex vertex, VertexIndex above) {
    auto& links = graph_.vertices[index(vertex)].links;
    std::stable_partition(links.begin(), links.end(), [&](LinkIndex link) {
      const Link& candidate = graph_.at(link);
      return candidate.kind != LinkKind::pci || candidate.to != above;
    });
  }

  MachineGraph& graph() { return graph_; }

 private:
  void insert_by_speed(VertexIndex vertex, LinkIndex link) {
    auto& links = graph_.vertices[index(vertex)].links;
    const auto slower = std::find_if(links.begin(), links.end(), [&](LinkIndex other) {
      return graph_.at(other).speed < graph_.at(link).speed;
    });
    links.insert(slower, link);
  }

  MachineGraph graph_;
};

struct PciVertices {
  std::vector<VertexIndex> cpus, switches;

  VertexIndex above(const PciSlot& slot) const {
    return slot.above == PciSlot::Above::cpu ? cpus.at(slot.position) : switches.at(slot.position);
  }
};

void add_nets(GraphBuilder& builder, const NcclNic& nic, VertexIndex adapter) {
  MachineGraph& graph = builder.graph();
  for (const NcclNet& net : nic.nets) {
    const VertexIndex port = builder.add_vertex(VertexKind::net, graph.nets.size());
    graph.nets.push_back(port);
    graph.net.push_back(net);
    builder.connect(adapter, port, LinkKind::net, net.speed);
  }
}

/// NVLinks between two cards become one link with the speed of all of them; likewise to the NVSwitches.
void add_nvlinks(GraphBuilder& builder, const NcclSystem& system, const VersionRules& rules) {
  MachineGraph& graph = builder.graph();
  std::map<std::pair<std::size_t, std::size_t>, NcclSpeed> joined;
  for (std::size_t a = 0; a < system.gpus.size(); ++a) {
    const NcclSpeed one = nvlink_speed(rules, system.gpus[a].compute_capability);
    for (const NcclNvlink& link : system.gpus[a].nvlinks) {
      if (const auto* card = std::get_if<GpuEnd>(&link.end)) {
        const std::size_t b = card->position;
        if (a == b) continue;
        NcclSpeed& speed = joined[{std::min(a, b), std::max(a, b)}];
        speed = std::max(speed, one * link.count);
      } else {
        if (!graph.nvswitch) graph.nvswitch = builder.add_vertex(VertexKind::nvswitch, 0);
        builder.connect(graph.gpus[a], *graph.nvswitch, LinkKind::nvlink, one * link.count);
      }
    }
  }
  for (const auto& [pair, speed] : joined) {
    builder.connect(graph.gpus[pair.first], graph.gpus[pair.second], LinkKind::nvlink, speed);
  }
}

std::optional<std::size_t> cpu_above(const NcclSystem& system, PciSlot slot) {
  for (std::size_t hops = 0; hops <= system.switches.size(); ++hops) {
    if (slot.above == PciSlot::Above::cpu) return slot.position;
    slot = system.switches.at(slot.position).slot;
  }
  return std::nullopt;
}

}  // namespace

std::int64_t least_compute_capability(const MachineGraph& graph) {
  const auto least = std::min_element(graph.gpu.begin(), graph.gpu.end(), [](const NcclGpu& a, const NcclGpu& b) {
    return a.compute_capability < b.compute_capability;
  });
  return least == graph.gpu.end() ? 0 : least->compute_capability;
}

std::int64_t greatest_compute_capability(const MachineGraph& graph) {
  const auto greatest = std::max_element(graph.gpu.begin(), graph.gpu.end(), [](const NcclGpu& a, const NcclGpu& b) {
    return a.compute_capability < b.compute_capability;
  });
  return greatest == graph.gpu.end() ? 0 : greatest->compute_capability;
}

MachineGraph build_machine_graph(const NcclSystem& system, NcclVersion version) {
  const VersionRules& rules = rules_of(version);
  GraphBuilder builder;
  MachineGraph& graph = builder.graph();
  PciVertices pci;
  std::vector<std::pair<VertexIndex, VertexIndex>> upward;

  for (std::size_t i = 0; i < system.cpus.size(); ++i) {
    pci.cpus.push_back(builder.add_vertex(VertexKind::cpu, i));
  }
  graph.cpus = pci.cpus;
  graph.cpu = system.cpus;
  for (std::size_t i = 0; i < system.switches.size(); ++i) {
    pci.switches.push_back(builder.add_vertex(VertexKind::pci_switch, i));
  }
  const auto plug = [&](VertexIndex device, const PciSlot& slot) {
    builder.connect(device, pci.above(slot), LinkKind::pci, slot.speed);
    upward.emplace_back(device, pci.above(slot));
  };
  for (std::size_t i = 0; i < system.switches.size(); ++i) plug(pci.switches[i], system.switches[i].slot);
  for (std::size_t i = 0; i < system.gpus.size(); ++i) {
    graph.gpus.push_back(builder.add_vertex(VertexKind::gpu, i));
    plug(graph.gpus.back(), system.gpus[i].slot);
  }
  graph.gpu = system.gpus;
  for (std::size_t i = 0; i < system.nics.size(); ++i) {
    const VertexIndex adapter = builder.add_vertex(VertexKind::nic, i);
    add_nets(builder, system.nics[i], adapter);
    plug(adapter, system.nics[i].slot);
  }
  add_nvlinks(builder, system, rules);
  for (std::size_t i = 0; i < system.gpus.size(); ++i) {
    const auto cpu = cpu_above(system, system.gpus[i].slot);
    if (system.gpus[i].c2c.count() == 0 || !cpu) continue;
    builder.connect(graph.gpus[i], graph.cpus[*cpu], LinkKind::c2c, system.gpus[i].c2c);
  }
  for (std::size_t a = 0; a < graph.cpus.size(); ++a) {
    for (std::size_t b = a + 1; b < graph.cpus.size(); ++b) {
      builder.connect(graph.cpus[a], graph.cpus[b], LinkKind::sys, inter_cpu_speed(rules, system.cpus[a]));
    }
  }
  for (const auto& [device, above] : upward) builder.move_last(device, above);
  return std::move(graph);
}

}  // namespace takt::nccl
