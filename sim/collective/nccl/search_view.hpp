// What a search for channels looks at of a server, and searches shared by servers that look the same.
//
// Groups of hybrid sharding take one card of each server, every group another one. Their parts of a server differ in
// the numbers of switches and NICs and in nothing that a search compares, and a search of one card with many NICs
// always spends its whole budget (N22). So a view names links and NIC ports by the order in which a search meets them,
// and graphs are kept by view. A search reads nothing that its view does not hold, hence equal views mean equal graphs
// but for the numbers of the ports, which are translated back.
#pragma once

#include "collective/nccl/channel_graph.hpp"
#include "collective/nccl/channel_search.hpp"
#include "collective/nccl/paths.hpp"

#include <compare>
#include <cstdint>
#include <vector>

namespace takt::nccl {

/// The graphs of a node.
struct NodeGraphs {
  ChannelGraph ring, tree, nvls;  ///< nvls: no channels where it is off or there is nothing to multicast
};

struct SearchView {
  struct PathView {
    std::vector<std::uint32_t> links;  ///< by number in `links`
    NcclSpeed speed{};
    NcclPathType type = NcclPathType::none;
    HostBridgeTax tax = HostBridgeTax::none;
    auto operator<=>(const PathView&) const = default;
  };
  struct LinkView {  ///< links 2 k and 2 k + 1 are the directions of one
    LinkKind kind = LinkKind::pci;
    NcclSpeed speed{};
    std::size_t card = 0;  ///< that it leads to, counted from 1; 0: none
    auto operator<=>(const LinkView&) const = default;
  };
  struct CardView {
    std::int64_t compute_capability = 0;
    std::vector<std::uint32_t> links;  ///< its own: slot and NVLinks
    std::vector<std::uint32_t> ports;  ///< in the order in which its channels try them
    std::size_t own_ports = 0;         ///< how many of them are its own; the rest is tried by distance
    auto operator<=>(const CardView&) const = default;
  };
  struct PortView {
    NcclSpeed speed{};
    double latency = 0.0;
    std::uint32_t same_as = 0;  ///< the first port of the same adapter and number
    std::size_t nearest_card = 0;
    std::vector<std::size_t> cards_near;
    auto operator<=>(const PortView&) const = default;
  };

  NcclSettings settings;
  Reach reach = Reach::one_node;
  CpuArchitecture cpu = CpuArchitecture::x86;
  CpuVendor vendor = CpuVendor::other;
  bool has_nvswitch = false;
  std::size_t own_ports = 0;  ///< of all cards together
  std::vector<CardView> cards;
  std::vector<PortView> ports;
  std::vector<PathView> paths;  ///< card to card; card to port and back; card to NVSwitch and back
  std::vector<LinkView> links;

  auto operator<=>(const SearchView&) const = default;
};

/// A view, and which port of the machine each of its ports is.
struct NamedView {
  SearchView view;
  std::vector<std::size_t> port_of;
};
NamedView view_of(const RoutedMachine& machine, Reach reach);

/// Searches ring, tree and NVLS of one node.
NodeGraphs find_graphs(const RoutedMachine& machine, Reach reach);
/// The same, found once for all nodes that look the same: a memo of a pure function, safe to call from several threads.
NodeGraphs shared_graphs(const RoutedMachine& machine, Reach reach);

}  // namespace takt::nccl
