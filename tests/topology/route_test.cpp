#include "catch.hpp"
#include "machines.hpp"
#include "topology/path_type.hpp"

using namespace takt;
using namespace takt::machines;

TEST_CASE("cards on four switches: path types as nvidia-smi names them", "[topology]") {
  const Topology topology = built(four_switches().spec());
  // gpu0 and gpu1 share a switch, gpu2 is behind the other switch of the socket, gpu4 on the other socket.
  REQUIRE(path_type_matrix(topology)[0] ==
          std::vector<std::string>{"X", "PIX", "PHB", "PHB", "SYS", "SYS", "SYS", "SYS"});
  REQUIRE(path_type_matrix(topology)[5] ==
          std::vector<std::string>{"SYS", "SYS", "SYS", "SYS", "PIX", "X", "PHB", "PHB"});
}

TEST_CASE("within the level cards write to each other; beyond it they stage on the receiver's side (N11, N12)",
          "[topology]") {
  const Topology topology = built(four_switches().spec());  // level PXB
  const CardRoute near = between(topology, "gpu0", "gpu1");
  REQUIRE(near.transport == Transport::peer_to_peer);
  REQUIRE(stops(topology, near.route) == "gpu0 sw0 gpu1");
  const CardRoute far = between(topology, "gpu0", "gpu4");
  REQUIRE(far.transport == Transport::host_staged);
  REQUIRE(far.type == PathType::sys);
  REQUIRE(stops(topology, far.route) == "gpu0 sw0 cpu0 cpu1 cpu1-memory cpu1 sw2 gpu4");
  REQUIRE(stops(topology, between(topology, "gpu4", "gpu0").route) == "gpu4 sw2 cpu1 cpu0 cpu0-memory cpu0 sw0 gpu0");
}

TEST_CASE("a farther level lets cards write over host bridges and sockets", "[topology]") {
  ServerSpec spec = four_switches().spec();
  spec.peer_to_peer.level = "PHB";
  const Topology over_bridges = built(spec);
  REQUIRE(stops(over_bridges, between(over_bridges, "gpu0", "gpu2").route) == "gpu0 sw0 cpu0 sw1 gpu2");
  REQUIRE(between(over_bridges, "gpu0", "gpu4").transport == Transport::host_staged);
  spec.peer_to_peer.level = "SYS";
  const Topology over_sockets = built(spec);
  REQUIRE(stops(over_sockets, between(over_sockets, "gpu1", "gpu6").route) == "gpu1 sw0 cpu0 cpu1 sw3 gpu6");
}

TEST_CASE("without a stated level two cards of an AMD server write across sockets (N11)", "[topology]") {
  const auto two_sockets = [](const std::string& cpu) {
    Server server("pair");
    server.socket("cpu0", cpu).socket("cpu1", cpu).link("cpu0", "cpu1", socket_link());
    return server.card("gpu0", "cpu0").card("gpu1", "cpu1").spec();
  };
  ServerSpec amd = two_sockets("amd-turin");
  REQUIRE(between(built(amd), "gpu0", "gpu1").transport == Transport::peer_to_peer);
  REQUIRE(between(built(two_sockets("intel-spr")), "gpu0", "gpu1").transport == Transport::host_staged);
  amd.places["peer_to_peer.level"] = {"pair.toml", 1, 1, ""};  // the file says PXB
  REQUIRE(between(built(amd), "gpu0", "gpu1").transport == Transport::host_staged);
}

TEST_CASE("a card without peer-to-peer, a translating IOMMU and peer-to-peer off all stage in host memory",
          "[topology]") {
  Cards patched = cards();
  patched.at("plain").pcie_peer_to_peer = false;
  const Topology geforce = *build_topology(four_switches().spec(), patched, LinkBasis::nominal);
  REQUIRE(between(geforce, "gpu0", "gpu1").transport == Transport::host_staged);
  REQUIRE(stops(geforce, between(geforce, "gpu0", "gpu1").route) == "gpu0 sw0 cpu0 cpu0-memory cpu0 sw0 gpu1");

  ServerSpec iommu = four_switches().spec();
  iommu.peer_to_peer.iommu = true;
  REQUIRE(between(built(iommu), "gpu0", "gpu1").transport == Transport::host_staged);

  ServerSpec off = direct(2).bridge({"gpu0", "gpu1"}).spec();
  off.peer_to_peer.enabled = false;
  REQUIRE(between(built(off), "gpu0", "gpu1").transport == Transport::host_staged);
}

TEST_CASE("ACS sends what two cards of one switch exchange up to the root port and back", "[topology]") {
  ServerSpec spec = four_switches().spec();
  spec.peer_to_peer.acs = true;
  const Topology topology = built(spec);
  const CardRoute card_route = between(topology, "gpu0", "gpu1");
  REQUIRE(card_route.type == PathType::pix);
  REQUIRE(card_route.transport == Transport::peer_to_peer);
  REQUIRE(stops(topology, card_route.route) == "gpu0 sw0 cpu0 sw0 gpu1");
}

TEST_CASE("a route's latency is the sum over its links", "[topology]") {
  // gpu0 - sw0 - gpu1: 2 x 0.3 us
  const Topology topology = built(four_switches().spec());
  REQUIRE(between(topology, "gpu0", "gpu1").route.latency == Duration(600'000));
}

TEST_CASE("chip fabric between two switches shortens the way but is no path in the device tree", "[topology]") {
  Server server = four_switches();
  server.link("sw0", "sw1", link_type(LinkKind::fabric, 64e9, 53e9));
  ServerSpec spec = server.spec();
  spec.peer_to_peer.level = "SYS";
  const Topology topology = built(spec);
  REQUIRE(between(topology, "gpu0", "gpu2").type == PathType::phb);
  REQUIRE(stops(topology, between(topology, "gpu0", "gpu2").route) == "gpu0 sw0 sw1 gpu2");
  spec.peer_to_peer.level = "PXB";
  REQUIRE(between(built(spec), "gpu0", "gpu2").transport == Transport::host_staged);
}

TEST_CASE("two switches one behind the other are PXB", "[topology]") {
  Server server("tree");
  server.socket("cpu0").pcie_switch("root", "cpu0").pcie_switch("leaf0", "root").pcie_switch("leaf1", "root");
  const Topology topology = built(server.card("gpu0", "leaf0").card("gpu1", "leaf1").spec());
  REQUIRE(between(topology, "gpu0", "gpu1").type == PathType::pxb);
  REQUIRE(stops(topology, between(topology, "gpu0", "gpu1").route) == "gpu0 leaf0 root leaf1 gpu1");
}

TEST_CASE("root complexes of one socket joined by fabric are one NUMA node, and NODE apart", "[topology]") {
  Server server("quadrants");
  server.socket("q0").device("q1", DeviceKind::socket).link("q0", "q1", link_type(LinkKind::fabric, 73e9, 73e9));
  const Topology topology = built(server.card("gpu0", "q0").card("gpu1", "q1").spec());
  REQUIRE(between(topology, "gpu0", "gpu1").type == PathType::node);
  REQUIRE(topology.device(*topology.find("gpu1")).socket == 0);
  REQUIRE(stops(topology, between(topology, "gpu0", "gpu1").route) == "gpu0 q0 q0-memory q0 q1 gpu1");
}

TEST_CASE("copies to and from host memory cross the socket of the card", "[topology]") {
  const Topology topology = built(four_switches().spec());
  const VertexId card = *topology.find("gpu7");
  REQUIRE(stops(topology, *topology.to_host_memory(card)) == "gpu7 sw3 cpu1 cpu1-memory");
  REQUIRE(stops(topology, *topology.from_host_memory(card)) == "cpu1-memory cpu1 sw3 gpu7");
}

TEST_CASE("nominal links know no measured caps, measured ones cap the sum of both directions", "[topology]") {
  const auto uplink = [](const Topology& topology) {
    return topology.link(topology.to_host_memory(*topology.find("gpu0"))->links.at(1));
  };
  const Topology nominal = built(four_switches().spec(), LinkBasis::nominal);
  REQUIRE(uplink(nominal).capacity == Bandwidth(64e9));
  REQUIRE_FALSE(uplink(nominal).both_directions.has_value());
  const Topology measured = built(four_switches().spec(), LinkBasis::measured);
  REQUIRE(uplink(measured).capacity == Bandwidth(56e9));
  const Resource& both = measured.resources()[index(uplink(measured).both_directions.value())];
  REQUIRE(both.name == "cpu0 <-> sw0");
  REQUIRE(both.capacity == 110e9);
}

TEST_CASE("reads and writes of a host memory share its bandwidth", "[topology]") {
  const Topology topology = built(four_switches().spec(), LinkBasis::nominal);
  const Link& memory = topology.link(topology.to_host_memory(*topology.find("gpu0"))->links.back());
  const Resource& bus = topology.resources()[index(memory.both_directions.value())];
  REQUIRE(bus.kind == ResourceKind::host_memory);
  REQUIRE(bus.capacity == 300e9);
}

TEST_CASE("two host bridges of one socket are NODE apart, and PHB to NCCL's level", "[topology]") {
  ServerSpec spec = direct(3, "plain").spec();
  std::int64_t bridge = 1;
  for (LinkSpec& link : spec.links) {
    if (link.type.kind == LinkKind::pcie) link.host_bridge = bridge++ < 3 ? 1 : 2;  // gpu0 and gpu1 | gpu2
  }
  const Topology staged = built(spec);
  CHECK(between(staged, "gpu0", "gpu1").type == PathType::phb);
  CHECK(between(staged, "gpu0", "gpu2").type == PathType::node);
  CHECK(between(staged, "gpu0", "gpu2").transport == Transport::host_staged);
  spec.peer_to_peer.level = "PHB";
  CHECK(between(built(spec), "gpu0", "gpu2").transport == Transport::peer_to_peer);
}
