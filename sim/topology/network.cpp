// Two shapes, both a leaf layer under one spine.
// - Rail-optimised: NIC i of every server goes to rail switch i. Cards of equal number meet on their rail; other pairs
//   cross the spine.
// - Fat tree: a leaf takes all NICs of as many servers as its ports allow.
// A leaf's links to the spine are one link of capacity (NICs below x NIC speed) / oversubscription, and the spine is
// one switch: hash collisions between flows, which real fabrics have, are not modelled.
#include "topology/network.hpp"

#include <algorithm>
#include <string>

namespace takt {
namespace {

/// Large-message payload of RoCE and InfiniBand: 24.2, 48.5 and 97 GB/s of 25, 50 and 100 (96 to 98 % of line rate).
constexpr double payload_share = 0.97;

/// Time in a NIC, each way: an RDMA message takes about 2.0 us one way under one leaf, of which a switch has 0.5 us.
constexpr Duration nic_latency{750'000};

/// A 64-port leaf with half of its ports down.
constexpr std::size_t leaf_ports_down = 32;

class Network {
 public:
  Network(GraphBuilder& builder, const ClusterSpec& cluster) : builder_(builder), cluster_(cluster) {}

  VertexId add_switch(std::string name) {
    Device device;
    device.name = std::move(name);
    device.kind = DeviceKind::network_switch;
    device.server = -1;
    return builder_.add_device(std::move(device));
  }

  /// A NIC's cable. Each link into or out of a switch carries half of the switch's latency.
  void attach(const NetworkPort& port, VertexId leaf) {
    builder_.add_link({port.nic, leaf, link_type(port.speed, nic_latency + cluster_.switch_latency / 2), false, 0});
  }

  void join_to_spine(VertexId leaf, VertexId spine, Bandwidth below) {
    builder_.add_link({leaf, spine, link_type(below / cluster_.oversubscription, cluster_.switch_latency), false, 0});
  }

 private:
  LinkType link_type(Bandwidth line_rate, Duration latency) const {
    LinkType type;
    type.id = "network";
    type.kind = LinkKind::network;
    type.nominal = line_rate;
    type.effective = line_rate * payload_share;
    type.latency = latency;
    type.source = cluster_.source;
    return type;
  }

  GraphBuilder& builder_;
  const ClusterSpec& cluster_;
};

/// Leaves with the sum of the NIC speeds below each.
struct Leaves {
  std::vector<VertexId> switches;
  std::vector<Bandwidth> below;
};

Leaves add_rails(Network& network, std::span<const std::vector<NetworkPort>> ports) {
  Leaves leaves;
  for (std::size_t rail = 0; rail < ports.front().size(); ++rail) {
    const VertexId leaf = leaves.switches.emplace_back(network.add_switch("rail" + std::to_string(rail)));
    Bandwidth& below = leaves.below.emplace_back();
    for (const std::vector<NetworkPort>& server : ports) {
      network.attach(server[rail], leaf);
      below += server[rail].speed;
    }
  }
  return leaves;
}

Leaves add_fat_tree(Network& network, std::span<const std::vector<NetworkPort>> ports) {
  const std::size_t servers_per_leaf = std::max<std::size_t>(leaf_ports_down / ports.front().size(), 1);
  Leaves leaves;
  for (std::size_t first = 0; first < ports.size(); first += servers_per_leaf) {
    const std::string name = "leaf" + std::to_string(leaves.switches.size());
    const VertexId leaf = leaves.switches.emplace_back(network.add_switch(name));
    Bandwidth& below = leaves.below.emplace_back();
    const std::size_t count = std::min(servers_per_leaf, ports.size() - first);
    for (const std::vector<NetworkPort>& server : ports.subspan(first, count)) {
      for (const NetworkPort& port : server) {
        network.attach(port, leaf);
        below += port.speed;
      }
    }
  }
  return leaves;
}

}  // namespace

void add_network(GraphBuilder& builder, const ClusterSpec& cluster, std::span<const std::vector<NetworkPort>> ports) {
  Network network(builder, cluster);
  const bool by_rail = cluster.fabric == FabricKind::rail_optimised;
  const Leaves leaves = by_rail ? add_rails(network, ports) : add_fat_tree(network, ports);
  if (leaves.switches.size() == 1) return;
  const VertexId spine = network.add_switch("spine");
  for (std::size_t leaf = 0; leaf < leaves.switches.size(); ++leaf) {
    network.join_to_spine(leaves.switches[leaf], spine, leaves.below[leaf]);
  }
}

}  // namespace takt
