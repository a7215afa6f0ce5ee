#include "catch.hpp"
#include "machines.hpp"

using namespace takt;
using namespace takt::machines;

namespace {

std::string errors_of(const ServerSpec& spec) {
  const Result<Topology> topology = build_topology(spec, cards(), LinkBasis::nominal);
  REQUIRE_FALSE(topology.has_value());
  return render(topology.diagnostics());
}

ServerSpec without_link(ServerSpec spec, const std::string& from, const std::string& to) {
  std::erase_if(spec.links, [&](const LinkSpec& link) { return link.from == from && link.to == to; });
  return spec;
}

}  // namespace

TEST_CASE("a bridge over five cards is refused", "[topology]") {
  REQUIRE(errors_of(direct(5).bridge({"gpu0", "gpu1", "gpu2", "gpu3", "gpu4"}).spec()) ==
          "direct.toml:14:1: error: a bridge over 5 cards: a bridge of Bridged Card joins at most 4\n"
          "   14 | bridge\n"
          "      | ^\n"
          "hint: split the cards over several bridges\n");
}

TEST_CASE("a card in two bridges is refused", "[topology]") {
  REQUIRE(errors_of(direct(3).bridge({"gpu0", "gpu1"}).bridge({"gpu1", "gpu2"}).spec()) ==
          "direct.toml:11:1: error: gpu1 is in two bridges\n"
          "   11 | bridge\n"
          "      | ^\n"
          "hint: a card has one bridge connector set\n");
}

TEST_CASE("a bridge of cards without NVLink is refused", "[topology]") {
  REQUIRE(errors_of(direct(2, "plain").bridge({"gpu0", "gpu1"}).spec()).find(
              "gpu0 is on a bridge, but Plain Card has no NVLink") != std::string::npos);
}

TEST_CASE("an unknown device in a link is refused with a suggestion", "[topology]") {
  Server server = direct(2);
  server.device("sw0", DeviceKind::pcie_switch).link("cpu", "sw0", pcie5_x16());
  REQUIRE(errors_of(server.spec()) ==
          "direct.toml:9:1: error: no device is named cpu\n"
          "    9 | cpu - sw0\n"
          "      | ^\n"
          "hint: did you mean cpu0?\n");
}

TEST_CASE("more lanes than a socket has are refused", "[topology]") {
  ServerSpec spec = direct(6, "plain").spec();
  spec.devices.front().pcie_lanes = 80;  // 6 x 16 = 96
  REQUIRE(errors_of(spec) ==
          "direct.toml:1:1: error: cpu0 has 80 PCIe lanes, but its links need 96\n"
          "    1 | cpu0\n"
          "      | ^\n"
          "hint: put devices behind a switch or on the other socket\n");
}

TEST_CASE("a PCIe link newer than its card is refused", "[topology]") {
  Cards old = cards();
  old.at("plain").pcie_generation = 4;
  const Result<Topology> topology = build_topology(direct(1, "plain").spec(), old, LinkBasis::nominal);
  REQUIRE(render(topology.diagnostics()) ==
          "direct.toml:5:1: error: gpu0 is linked by PCIe Gen5 x16, but Plain Card is a Gen4 x16 card\n"
          "    5 | cpu0 - gpu0\n"
          "      | ^\n"
          "hint: use type = \"pcie4-x16\"\n");
}

TEST_CASE("all errors of a server are reported at once", "[topology]") {
  Server server = direct(3);
  server.bridge({"gpu0", "gpu9"}).link("gpu0", "gpu0", pcie5_x16());
  const Result<Topology> topology = build_topology(server.spec(), cards(), LinkBasis::nominal);
  REQUIRE(topology.diagnostics().size() == 2);
}

TEST_CASE("deleting a card's link is an error unless a bridge remains", "[topology]") {
  const ServerSpec bridged = direct(2).bridge({"gpu0", "gpu1"}).spec();
  REQUIRE(build_topology(without_link(bridged, "cpu0", "gpu1"), cards(), LinkBasis::nominal).has_value());
  REQUIRE(errors_of(without_link(direct(2).spec(), "cpu0", "gpu1")) ==
          "direct.toml:4:1: error: gpu0 has no path to gpu1\n"
          "    4 | gpu0\n"
          "      | ^\n"
          "hint: add the link that joins the card to a switch, a socket or a bridge\n"
          "direct.toml:6:1: error: gpu1 has no path to gpu0\n"
          "    6 | gpu1\n"
          "      | ^\n"
          "hint: add the link that joins the card to a switch, a socket or a bridge\n");
}

TEST_CASE("deleting a switch's uplink reroutes over the other one", "[topology]") {
  Server server("dual-uplink");
  server.socket("cpu0").socket("cpu1").link("cpu0", "cpu1", socket_link());
  server.pcie_switch("sw0", "cpu0").link("cpu1", "sw0", pcie5_x16());
  server.card("gpu0", "sw0").card("gpu1", "cpu0");
  ServerSpec spec = server.spec();
  spec.peer_to_peer.level = "SYS";
  const Topology both = built(spec);
  REQUIRE(stops(both, between(both, "gpu0", "gpu1").route) == "gpu0 sw0 cpu0 gpu1");
  const Topology one = built(without_link(spec, "cpu0", "sw0"));
  REQUIRE(stops(one, between(one, "gpu0", "gpu1").route) == "gpu0 sw0 cpu1 cpu0 gpu1");
  REQUIRE(between(one, "gpu0", "gpu1").type == PathType::sys);
}

TEST_CASE("a bridge across sockets is a warning", "[topology]") {
  Server server("across");
  server.socket("cpu0").socket("cpu1").link("cpu0", "cpu1", socket_link());
  server.card("gpu0", "cpu0", "bridged").card("gpu1", "cpu1", "bridged").bridge({"gpu0", "gpu1"});
  const Result<Topology> topology = build_topology(server.spec(), cards(), LinkBasis::nominal);
  REQUIRE(topology.has_value());
  REQUIRE(render(topology.diagnostics()) ==
          "across.toml:12:1: warning: a bridge crosses sockets: gpu0 hangs on NUMA node 0, gpu1 on 1\n"
          "   12 | bridge\n"
          "      | ^\n"
          "hint: vendors advise to keep the cards of a bridge on one socket\n");
}

TEST_CASE("staging without a stated host memory is an error", "[topology]") {
  Server server("no-memory");
  server.device("cpu0", DeviceKind::socket).card("gpu0", "cpu0").card("gpu1", "cpu0");
  REQUIRE(errors_of(server.spec()).find("gpu0 reaches gpu1 by PHB and would exchange through host memory, but no host "
                                        "memory is stated") != std::string::npos);
}
