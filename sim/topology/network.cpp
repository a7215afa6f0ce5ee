// Two shapes, both a leaf layer under one spine.
// - Rail-optimised: NIC i of every server goes to rail switch i. Cards of equal number meet on their rail; other pairs
//   cross the spine.
// - Fat tree: a leaf takes all NICs of as many servers as its ports allow.
// A leaf's links to the spine are one link of capacity (NICs below x NIC speed) / oversubscription, and the spine is one
// switch: hash collisions between flows, which real fabrics have, are not modelled.
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

LinkType network_link(const ClusterSpec& cluster, double speeds, Duration latency) {
  LinkType type;
  type.id = "network";
  type.kind = LinkKind::network;
  type.nominal = cluster.nic_speed * speeds;
  type.effective = type.nominal * payload_share;
  type.latency = latency;
  type.source = cluster.source;
  return type;
}

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
  void attach(VertexId nic, VertexId leaf) {
    builder_.add_link({nic, leaf, network_link(cluster_, 1.0, nic_latency + cluster_.switch_latency / 2)});
  }

  void join_to_spine(VertexId leaf, VertexId spine, std::size_t nics_below) {
    const double speeds = static_cast<double>(nics_below) / cluster_.oversubscription;
    builder_.add_link({leaf, spine, network_link(cluster_, speeds, cluster_.switch_latency)});
  }

 private:
  GraphBuilder& builder_;
  const ClusterSpec& cluster_;
};

void add_rails(Network& network, std::span<const std::vector<VertexId>> nics) {
  const std::size_t rails = nics.front().size();
  std::vector<VertexId> leaves;
  for (std::size_t rail = 0; rail < rails; ++rail) {
    const VertexId leaf = leaves.emplace_back(network.add_switch("rail" + std::to_string(rail)));
    for (const std::vector<VertexId>& server : nics) network.attach(server[rail], leaf);
  }
  if (rails == 1) return;
  const VertexId spine = network.add_switch("spine");
  for (const VertexId leaf : leaves) network.join_to_spine(leaf, spine, nics.size());
}

void add_fat_tree(Network& network, std::span<const std::vector<VertexId>> nics) {
  const std::size_t per_server = nics.front().size();
  const std::size_t servers_per_leaf = std::max<std::size_t>(leaf_ports_down / per_server, 1);
  std::vector<VertexId> leaves;
  std::vector<std::size_t> nics_below;
  for (std::size_t first = 0; first < nics.size(); first += servers_per_leaf) {
    const std::size_t count = std::min(servers_per_leaf, nics.size() - first);
    const VertexId leaf = leaves.emplace_back(network.add_switch("leaf" + std::to_string(leaves.size())));
    nics_below.push_back(count * per_server);
    for (const std::vector<VertexId>& server : nics.subspan(first, count)) {
      for (const VertexId nic : server) network.attach(nic, leaf);
    }
  }
  if (leaves.size() == 1) return;
  const VertexId spine = network.add_switch("spine");
  for (std::size_t i = 0; i < leaves.size(); ++i) network.join_to_spine(leaves[i], spine, nics_below[i]);
}

}  // namespace

void add_network(GraphBuilder& builder, const ClusterSpec& cluster, std::span<const std::vector<VertexId>> nics) {
  Network network(builder, cluster);
  switch (cluster.fabric) {
    case FabricKind::rail_optimised: return add_rails(network, nics);
    case FabricKind::fat_tree: return add_fat_tree(network, nics);
  }
}

}  // namespace takt
