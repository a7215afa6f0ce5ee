#include "catch.hpp"
#include "machines.hpp"
#include "topology/path_type.hpp"

using namespace takt;
using namespace takt::machines;

namespace {

/// Capacity of the one link between two bridged cards, GB/s.
double pair_bandwidth(const Topology& topology, const std::string& from, const std::string& to) {
  const CardRoute& card_route = between(topology, from, to);
  REQUIRE(card_route.type == PathType::nvlink);
  REQUIRE(card_route.transport == Transport::peer_to_peer);
  REQUIRE(card_route.route.links.size() == 1);
  return topology.link(card_route.route.links.front()).capacity.count() / 1e9;
}

}  // namespace

TEST_CASE("a 2-way bridge gives its pair all 18 links: 450 GB/s a direction", "[topology]") {
  // 18 links x 25 GB/s / (2 - 1 peers)
  const Topology topology = built(direct(2).bridge({"gpu0", "gpu1"}).spec());
  REQUIRE(pair_bandwidth(topology, "gpu0", "gpu1") == Approx(450.0));
  REQUIRE(path_type_label(topology, *topology.find("gpu0"), *topology.find("gpu1")) == "NV18");
}

TEST_CASE("a 4-way bridge gives each pair 6 links: 150 GB/s, 450 in total out of a card", "[topology]") {
  // 18 links / 3 peers = 6 links x 25 GB/s = 150 GB/s; 3 x 150 = 450
  const Topology topology = built(direct(4).bridge({"gpu0", "gpu1", "gpu2", "gpu3"}).spec());
  double total = 0.0;
  for (const char* peer : {"gpu1", "gpu2", "gpu3"}) {
    REQUIRE(pair_bandwidth(topology, "gpu0", peer) == Approx(150.0));
    total += pair_bandwidth(topology, "gpu0", peer);
  }
  REQUIRE(total == Approx(450.0));
  REQUIRE(path_type_label(topology, *topology.find("gpu0"), *topology.find("gpu3")) == "NV6");
}

TEST_CASE("each direction of a link is a link and a resource of its own", "[topology]") {
  const Topology topology = built(direct(2).bridge({"gpu0", "gpu1"}).spec());
  const LinkId there = between(topology, "gpu0", "gpu1").route.links.front();
  const LinkId back = between(topology, "gpu1", "gpu0").route.links.front();
  REQUIRE(topology.link(there).reverse == back);
  REQUIRE(topology.link(there).resource != topology.link(back).resource);
  REQUIRE(topology.resources()[index(topology.link(back).resource)].name == "gpu1 -> gpu0");
}

TEST_CASE("an NVSwitch joins every card with all its links", "[topology]") {
  Server server = direct(3);
  server.device("nvsw", DeviceKind::nvswitch);
  for (const char* card : {"gpu0", "gpu1", "gpu2"}) server.link(card, "nvsw", LinkType{});
  const Topology topology = built(server.spec());
  const CardRoute card_route = between(topology, "gpu0", "gpu2");
  REQUIRE(card_route.type == PathType::nvlink);
  REQUIRE(stops(topology, card_route.route) == "gpu0 nvsw gpu2");
  REQUIRE(topology.link(card_route.route.links.front()).capacity == Bandwidth(450e9));
  REQUIRE(topology.link(card_route.route.links.front()).kind == LinkKind::nvswitch);
  REQUIRE(path_type_label(topology, *topology.find("gpu0"), *topology.find("gpu2")) == "NV18");
  REQUIRE(topology.nvlink_domains().size() == 1);
  REQUIRE(topology.nvlink_domains().front().switched);
  REQUIRE(topology.nvlink_domains().front().cards.size() == 3);
}

TEST_CASE("the measured rate of one NVLink multiplies with the links of a pair", "[topology]") {
  // 6 links x 22 GB/s = 132 measured, 6 x 25 = 150 nominal
  ServerSpec spec = direct(4).bridge({"gpu0", "gpu1", "gpu2", "gpu3"}).spec();
  spec.bridges.front().link = link_type(LinkKind::nvlink, 25e9, 22e9);
  const Topology measured = built(spec, LinkBasis::measured);
  REQUIRE(pair_bandwidth(measured, "gpu1", "gpu2") == Approx(132.0));
  const Topology nominal = built(spec, LinkBasis::nominal);
  REQUIRE(pair_bandwidth(nominal, "gpu1", "gpu2") == Approx(150.0));
}

TEST_CASE("cards of two bridges meet over PCIe, never through another card", "[topology]") {
  const Topology topology = built(direct(4).bridge({"gpu0", "gpu1"}).bridge({"gpu2", "gpu3"}).spec());
  const CardRoute card_route = between(topology, "gpu0", "gpu2");
  REQUIRE(card_route.type == PathType::phb);
  REQUIRE(stops(topology, card_route.route).find("gpu1") == std::string::npos);
  REQUIRE(stops(topology, card_route.route).find("gpu3") == std::string::npos);
}
