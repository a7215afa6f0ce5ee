#include "topology/bisection.hpp"

#include "catch.hpp"
#include "topology/data.hpp"
#include "topology/machines.hpp"

using namespace takt;

namespace {

std::string cut_of(const Topology& topology, const Bisection& bisection) {
  std::string text;
  for (const LinkId link : bisection.cut) {
    text +=
        topology.device(topology.link_source(link)).name + ">" + topology.device(topology.link_target(link)).name + " ";
  }
  return text;
}

}  // namespace

TEST_CASE("two sockets are cut at the socket link", "[topology]") {
  // Four cards a socket: 2 uplinks x 64 = 128 to the socket, 100 between the sockets. Halves that mix the sockets can
  // exchange more: 64 under a switch and more over the rest.
  const Topology topology = machines::built(machines::four_switches().spec());
  const Bisection least = bisection(topology);
  CHECK(least.bandwidth == Bandwidth(100e9));
  CHECK(cut_of(topology, least) == "cpu0>cpu1 ");
  CHECK(least.first.size() == 4);
}

TEST_CASE("a full mesh is cut across its pairs and the PCIe beside it", "[topology]") {
  // Four cards on a bridge of 18 NVLinks: 6 x 25 = 150 a pair, four pairs between halves of two: 600. Each of the two
  // cards has PCIe of 64 besides: 600 + 128.
  const Topology topology = machines::built(machines::direct(4).bridge({"gpu0", "gpu1", "gpu2", "gpu3"}).spec());
  CHECK(bisection(topology).bandwidth.count() == Approx(728e9));
}

TEST_CASE("the narrowest split is found whatever the order of the cards", "[topology]") {
  // Cards alternate between two sockets: in card order each half holds both sockets and exchanges more than 100.
  machines::Server server("alternating");
  server.socket("cpu0").socket("cpu1").link("cpu0", "cpu1", machines::socket_link());
  for (int gpu = 0; gpu < 4; ++gpu) server.card("gpu" + std::to_string(gpu), gpu % 2 == 0 ? "cpu0" : "cpu1");
  const Topology topology = machines::built(server.spec());
  const Bisection least = bisection(topology);
  CHECK(least.bandwidth == Bandwidth(100e9));
  REQUIRE(least.first.size() == 2);
  CHECK(topology.device(least.first[1]).name == "gpu2");
}

TEST_CASE("both halves send at once, so the sum of a link's directions counts", "[topology]") {
  // 100 a direction, but 120 for both: 60 each.
  machines::Server server("capped");
  LinkType socket = machines::socket_link();
  socket.effective = Bandwidth(100e9);
  socket.both_directions = Bandwidth(120e9);
  server.socket("cpu0").socket("cpu1").link("cpu0", "cpu1", socket);
  for (int gpu = 0; gpu < 4; ++gpu) server.card("gpu" + std::to_string(gpu), gpu < 2 ? "cpu0" : "cpu1");
  CHECK(bisection(machines::built(server.spec(), LinkBasis::measured)).bandwidth == Bandwidth(60e9));
  CHECK(bisection(machines::built(server.spec(), LinkBasis::nominal)).bandwidth == Bandwidth(100e9));
}

TEST_CASE("sixteen cards: all splits up to cards that are alike", "[topology]") {
  // Four switches of four cards with one uplink of 64 each, cards dealt round: two switches against two, 2 x 64.
  machines::Server server("sixteen");
  server.socket("cpu0");
  for (int sw = 0; sw < 4; ++sw) server.pcie_switch("sw" + std::to_string(sw), "cpu0");
  for (int gpu = 0; gpu < 16; ++gpu) server.card("gpu" + std::to_string(gpu), "sw" + std::to_string(gpu % 4));
  const Topology topology = machines::built(server.spec());
  const Bisection least = bisection(topology);
  CHECK(least.search == Bisection::Search::every_split);
  CHECK(least.bandwidth == Bandwidth(128e9));
  for (const VertexId card : least.first) {
    for (const VertexId other : least.second) {
      CHECK(machines::between(topology, topology.device(card).name, topology.device(other).name).type == PathType::phb);
    }
  }
}

TEST_CASE("clusters try some splits and say so", "[topology]") {
  const Topology cluster = data::cluster("128x-8x-rtx-pro-6000-400g", LinkBasis::nominal);
  const Bisection least = bisection(cluster);
  CHECK(least.search == Bisection::Search::candidates);
  CHECK(least.first.size() == 512);
}
