// A server as a graph of directed links, in the order in which NCCL walks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "collective/nccl/settings.hpp"
#include "collective/nccl/system.hpp"

namespace takt::nccl {

enum class VertexIndex : std::uint32_t {};
enum class LinkIndex : std::uint32_t {};  ///< one direction

enum class VertexKind : std::uint8_t { gpu, pci_switch, nvswitch, cpu, nic, net };
enum class LinkKind : std::uint8_t { nvlink, c2c, pci, sys, net };

struct Link {
  VertexIndex from{};
  VertexIndex to{};
  LinkIndex reverse{};
  LinkKind kind = LinkKind::pci;
  NcclSpeed speed{};
};

struct Vertex {
  VertexKind kind = VertexKind::cpu;
  std::size_t position = 0;      ///< among the vertices of its kind
  std::vector<LinkIndex> links;  ///< fastest first, the PCIe link upwards last
};

struct MachineGraph {
  std::vector<Vertex> vertices;
  std::vector<Link> links;
  std::vector<VertexIndex> gpus, cpus, nets;
  std::optional<VertexIndex> nvswitch;
  std::vector<NcclGpu> gpu;  ///< of `gpus`, by position
  std::vector<NcclCpu> cpu;
  std::vector<NcclNet> net;

  const Vertex& at(VertexIndex vertex) const { return vertices[index(vertex)]; }
  const Link& at(LinkIndex link) const { return links[index(link)]; }
};

/// The smallest compute capability of the cards.
std::int64_t least_compute_capability(const MachineGraph& graph);
std::int64_t greatest_compute_capability(const MachineGraph& graph);

MachineGraph build_machine_graph(const NcclSystem& system, NcclVersion version);

}  // namespace takt::nccl
