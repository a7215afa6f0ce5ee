#include "catch.hpp"
#include "machines.hpp"

using namespace takt;
using namespace takt::machines;

namespace {

/// Four switches with two cards and two NICs each.
ServerSpec with_nics() {
  Server server = four_switches();
  for (int nic = 0; nic < 8; ++nic) server.nic("nic" + std::to_string(nic), "sw" + std::to_string(nic / 2));
  return server.spec();
}

ClusterSpec cluster_of(std::int64_t count, FabricKind fabric = FabricKind::rail_optimised) {
  ClusterSpec cluster;
  cluster.id = "cluster";
  cluster.file = "cluster.toml";
  cluster.server = "four-switches";
  cluster.count = count;
  cluster.fabric = fabric;
  cluster.nic_speed = Bandwidth(50e9);
  cluster.switch_latency = Duration(500'000);
  return cluster;
}

Topology built(const ClusterSpec& cluster, const ServerSpec& server) {
  Result<Topology> topology = build_topology(cluster, server, cards(), LinkBasis::nominal);
  if (!topology) throw std::runtime_error(render(topology.diagnostics()));
  return *std::move(topology);
}

}  // namespace

TEST_CASE("cards of equal number meet on their rail, others cross the spine", "[topology]") {
  const Topology topology = built(cluster_of(2), with_nics());
  const CardRoute rail = between(topology, "server0/gpu1", "server1/gpu1");
  REQUIRE(rail.transport == Transport::network);
  REQUIRE(rail.type == PathType::net);
  REQUIRE(stops(topology, rail.route) ==
          "server0/gpu1 server0/sw0 server0/nic1 rail1 server1/nic1 server1/sw0 server1/gpu1");
  const CardRoute cross = between(topology, "server0/gpu1", "server1/gpu6");
  REQUIRE(stops(topology, cross.route) ==
          "server0/gpu1 server0/sw0 server0/nic1 rail1 spine rail6 server1/nic6 server1/sw3 server1/gpu6");
}

TEST_CASE("a message under one leaf takes 2 us through NICs and switch", "[topology]") {
  // 2 NICs x 0.75 us + one switch of 0.5 us, and 2 x 2 PCIe links of 0.3 us
  const Topology topology = built(cluster_of(2), with_nics());
  REQUIRE(between(topology, "server0/gpu0", "server1/gpu0").route.latency == Duration(2'000'000 + 4 * 300'000));
}

TEST_CASE("inside a server of a cluster nothing changes", "[topology]") {
  const Topology topology = built(cluster_of(3), with_nics());
  REQUIRE(stops(topology, between(topology, "server2/gpu0", "server2/gpu4").route) ==
          "server2/gpu0 server2/sw0 server2/cpu0 server2/cpu1 server2/cpu1-memory server2/cpu1 server2/sw2 "
          "server2/gpu4");
  REQUIRE(topology.cards()[19].server == 2);
  REQUIRE(topology.device(topology.cards()[23].vertex).socket == 5);
}

TEST_CASE("oversubscription narrows the links to the spine", "[topology]") {
  ClusterSpec cluster = cluster_of(4);
  cluster.oversubscription = 2.0;
  const Topology topology = built(cluster, with_nics());
  // 4 NICs of 50 GB/s below a rail switch, over 2
  const std::vector<LinkId>& links = between(topology, "server0/gpu0", "server1/gpu1").route.links;
  REQUIRE(topology.link(links[3]).capacity == Bandwidth(100e9));
}

TEST_CASE("a fat tree fills leaves with whole servers", "[topology]") {
  // 32 ports down / 8 NICs = 4 servers a leaf
  const Topology topology = built(cluster_of(8, FabricKind::fat_tree), with_nics());
  REQUIRE(topology.find("leaf1").has_value());
  REQUIRE_FALSE(topology.find("leaf2").has_value());
  REQUIRE(stops(topology, between(topology, "server0/gpu0", "server3/gpu7").route) ==
          "server0/gpu0 server0/sw0 server0/nic0 leaf0 server3/nic7 server3/sw3 server3/gpu7");
  REQUIRE(stops(topology, between(topology, "server0/gpu0", "server4/gpu0").route) ==
          "server0/gpu0 server0/sw0 server0/nic0 leaf0 spine leaf1 server4/nic0 server4/sw0 server4/gpu0");
}

TEST_CASE("a NIC beyond PXB is reached through host memory (N14)", "[topology]") {
  Server server("root-port-nic");
  server.socket("cpu0").card("gpu0", "cpu0").nic("nic0", "cpu0");
  const Topology topology = built(cluster_of(2), server.spec());
  REQUIRE(stops(topology, between(topology, "server0/gpu0", "server1/gpu0").route) ==
          "server0/gpu0 server0/cpu0 server0/cpu0-memory server0/cpu0 server0/nic0 rail0 server1/nic0 server1/cpu0 "
          "server1/cpu0-memory server1/cpu0 server1/gpu0");
}

TEST_CASE("1,024 cards build, and every route is planned only when asked for", "[topology]") {
  const Topology topology = built(cluster_of(128), with_nics());
  REQUIRE(topology.cards().size() == 1024);
  REQUIRE(topology.server_count() == 128);
  for (std::size_t card = 0; card < 1024; ++card) {
    const VertexId from = topology.cards()[card].vertex;
    const VertexId to = topology.cards()[(card + 1) % 1024].vertex;
    REQUIRE(topology.card_route(from, to).type != PathType::disconnected);
    REQUIRE(&topology.card_route(from, to) == &topology.card_route(from, to));
  }
}

TEST_CASE("a cluster of servers without NICs is refused", "[topology]") {
  ClusterSpec cluster = cluster_of(2);
  cluster.places["server"] = {"cluster.toml", 2, 1, "server = \"four-switches\""};
  const Result<Topology> topology = build_topology(cluster, four_switches().spec(), cards(), LinkBasis::nominal);
  REQUIRE(render(topology.diagnostics()) ==
          "cluster.toml:2:1: error: four-switches has no NIC to join the servers with\n"
          "    2 | server = \"four-switches\"\n"
          "      | ^\n");
}

TEST_CASE("without a speed of the cluster the NICs run at that of the server file", "[topology]") {
  ServerSpec server = with_nics();
  ClusterSpec cluster = cluster_of(2);
  cluster.nic_speed = Bandwidth(0);
  const Result<Topology> none = build_topology(cluster, server, cards(), LinkBasis::nominal);
  REQUIRE(render(none.diagnostics()) ==
          "cluster.toml: error: neither the cluster nor four-switches states the speed of the NICs\n"
          "hint: add e.g. nic_speed = \"400 Gb/s\"\n");
  for (DeviceSpec& device : server.devices) {
    if (device.kind == DeviceKind::nic) device.nic_speed = Bandwidth(25e9);
  }
  const Topology topology = built(cluster, server);
  const std::vector<LinkId>& links = between(topology, "server0/gpu0", "server1/gpu0").route.links;
  REQUIRE(topology.link(links[2]).capacity == Bandwidth(25e9));
}
