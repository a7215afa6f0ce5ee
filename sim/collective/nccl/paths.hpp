// Which way data takes between the devices of a server, and where NCCL leaves the shortest way.
//
// First every pair gets its best path by type, then bandwidth, then hops (N10). Then the rules apply that send traffic
// elsewhere: cards without peer-to-peer go through host memory on the receiver's CPU (N11, N12), cards for which the
// network is faster are apart (N12b), NICs are reached by way of a card near them (PXN) or, without GPUDirect, through
// the CPU (N14).
#pragma once

#include <cstdint>
#include <vector>

#include "collective/nccl/machine_graph.hpp"
#include "collective/nccl/path_type.hpp"
#include "collective/nccl/settings.hpp"

namespace takt::nccl {

enum class HostBridgeTax : std::uint8_t { none, intel };

struct Path {
  std::vector<LinkIndex> links;  ///< empty: the device itself, or no path
  NcclSpeed speed{};
  NcclPathType type = NcclPathType::none;
  HostBridgeTax tax = HostBridgeTax::none;  ///< N22: card to card through an Intel host bridge takes 6/5 on PCIe

  std::size_t hops() const { return links.size(); }
};

/// How two cards of a server exchange data.
enum class Transport : std::uint8_t { itself, p2p, shm, net };
std::string_view to_text(Transport transport);

/// Paths between any two vertices of which the target is a card, CPU, NIC port or NVSwitch.
class PathTable {
 public:
  explicit PathTable(std::size_t vertices) : vertices_(vertices), paths_(vertices * vertices) {}

  const Path& operator()(VertexIndex from, VertexIndex to) const { return paths_[index(from) * vertices_ + index(to)]; }
  Path& operator()(VertexIndex from, VertexIndex to) { return paths_[index(from) * vertices_ + index(to)]; }

 private:
  std::size_t vertices_;
  std::vector<Path> paths_;
};

/// A server with its paths, as far as the settings decide them.
struct RoutedMachine {
  MachineGraph graph;
  PathTable paths;
  std::vector<Transport> transports;       ///< [from * cards + to]
  std::vector<std::size_t> nearest_gpu;    ///< of each NIC port; no_gpu if there is none
  NcclSettings settings;

  static constexpr std::size_t no_gpu = static_cast<std::size_t>(-1);

  const Path& gpu_path(std::size_t from, std::size_t to) const { return paths(graph.gpus[from], graph.gpus[to]); }
  const Path& path_to_net(std::size_t gpu, std::size_t net) const { return paths(graph.gpus[gpu], graph.nets[net]); }
  const Path& path_from_net(std::size_t net, std::size_t gpu) const { return paths(graph.nets[net], graph.gpus[gpu]); }
  Transport transport(std::size_t from, std::size_t to) const { return transports[from * graph.gpus.size() + to]; }
};

RoutedMachine route(const NcclSystem& system, const NcclSettings& settings);

/// Groups of cards that reach each other without the network, each ascending, by their first card (N12b).
std::vector<std::vector<std::size_t>> local_groups(const RoutedMachine& machine);

/// Whether GPUDirect RDMA is used between a card and a NIC port (N14).
enum class RdmaDirection : std::uint8_t { read, write };
bool uses_direct_rdma(const RoutedMachine& machine, std::size_t gpu, std::size_t net, RdmaDirection direction);

}  // namespace takt::nccl
