// All-to-all through one switch: measured are 149 to 164 GB/s of the 225 that four Gen5 ports carry (0.66 to 0.73), and
// over a root complex with four uplinks 204 of 281 (0.73). With three contenders a port the table below gives 0.68.
#include "metrics/copy_limits.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace takt {
namespace {

/// The routes that go from one port of a device to another of its ports.
using PortTraffic = std::map<std::pair<LinkId, LinkId>, std::size_t>;

/// Whether each port sends equally many routes to every other port; a port is the pair of its two directions.
bool is_uniform(const Topology& topology, const PortTraffic& traffic) {
  constexpr std::size_t fewest_ports = 3;  // between two ports nothing contends
  std::set<LinkId> inward;
  std::set<LinkId> outward;
  for (const auto& [ports, routes] : traffic) {
    if (routes != traffic.begin()->second) return false;
    inward.insert(ports.first);
    outward.insert(topology.link(ports.second).reverse);
  }
  return inward.size() >= fewest_ports && inward == outward && traffic.size() == inward.size() * (inward.size() - 1);
}

bool is_crossbar(DeviceKind kind) {
  return kind == DeviceKind::pcie_switch || kind == DeviceKind::socket;
}

}  // namespace

double head_of_line_share(std::size_t contenders) {
  constexpr std::array table = {1.0, 1.0, 0.75, 0.6825, 0.6553, 0.6399, 0.6302, 0.6234, 0.6184};
  constexpr double in_the_limit = 0.5858;
  return contenders < table.size() ? table[contenders] : in_the_limit;
}

std::map<LinkId, double> blocked_links(const Topology& topology, std::span<const std::vector<LinkId>> routes) {
  std::map<VertexId, PortTraffic> devices;
  for (const std::vector<LinkId>& route : routes) {
    for (std::size_t hop = 1; hop < route.size(); ++hop) {
      const VertexId device = topology.link_source(route[hop]);
      const bool over_pcie =
          topology.link(route[hop - 1]).kind == LinkKind::pcie && topology.link(route[hop]).kind == LinkKind::pcie;
      if (over_pcie && is_crossbar(topology.device(device).kind)) ++devices[device][{route[hop - 1], route[hop]}];
    }
  }
  std::map<LinkId, double> blocked;
  for (const auto& [device, traffic] : devices) {
    if (!is_uniform(topology, traffic)) continue;
    for (const auto& [ports, count] : traffic) {
      const auto contenders = static_cast<std::size_t>(std::count_if(
          traffic.begin(), traffic.end(), [&](const auto& other) { return other.first.second == ports.second; }));
      const double share = head_of_line_share(contenders);
      for (const LinkId link : {ports.first, ports.second}) {
        const auto [entry, is_new] = blocked.emplace(link, share);
        if (!is_new) entry->second = std::min(entry->second, share);
      }
    }
  }
  return blocked;
}

}  // namespace takt
