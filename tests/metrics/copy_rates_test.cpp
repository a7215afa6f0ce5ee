#include "metrics/copy_rates.hpp"

#include "catch.hpp"
#include "topology/machines.hpp"

using namespace takt;

namespace {

/// Rates in GB/s on a machine with nominal capacities: PCIe 64 a direction, sockets 100, memory 300.
std::vector<double> rates(const ServerSpec& spec, const std::vector<Transfer>& transfers,
                          LinkBasis basis = LinkBasis::nominal) {
  const Topology topology = machines::built(spec, basis);
  std::vector<double> result;
  for (const Bandwidth rate : copy_rates(topology, transfers)) result.push_back(rate.count() / 1e9);
  return result;
}

ServerSpec peers_everywhere(ServerSpec spec) {
  spec.peer_to_peer.level = "SYS";
  spec.places["peer_to_peer.level"] = {};
  return spec;
}

}  // namespace

TEST_CASE("transfers share the links that they cross", "[metrics]") {
  const ServerSpec server = peers_everywhere(machines::four_switches().spec());
  // gpu0 -> gpu1 under one switch: its own links, 64. gpu2 -> gpu3 shares none of them.
  CHECK(rates(server, {{0, 1}, {2, 3}}) == std::vector<double>{64, 64});
  // Two transfers over the uplink of sw0: x1 + x2 = 64.
  CHECK(rates(server, {{0, 4}, {1, 5}}) == std::vector<double>{32, 32});
  // Four from socket to socket over four uplinks: 4 x = 100 of the socket link is below 64 each.
  CHECK(rates(server, {{0, 4}, {2, 6}, {0, 6}, {2, 4}}) == std::vector<double>{25, 25, 25, 25});
  // One card to two peers: its link is the bottleneck.
  CHECK(rates(server, {{0, 1}, {0, 2}}) == std::vector<double>{32, 32});
}

TEST_CASE("both directions share a measured cap of their sum", "[metrics]") {
  // 56 a direction and 110 together: x1 + x2 = 110.
  const ServerSpec server = machines::four_switches().spec();
  CHECK(rates(server, {{0, 1}, {1, 0}}, LinkBasis::measured) == std::vector<double>{55, 55});
}

TEST_CASE("ACS sends traffic of one switch through the root and halves both directions", "[metrics]") {
  ServerSpec server = machines::four_switches().spec();
  // Each transfer climbs and descends the uplink, so each direction of it carries both: x1 + x2 = 64 where the cards'
  // own links allow 64 each. Measured on such a switch: 103 GB/s without ACS, 50 with it.
  server.peer_to_peer.acs = true;
  CHECK(rates(server, {{0, 1}, {1, 0}}) == std::vector<double>{32, 32});
  CHECK(rates(server, {{0, 1}}) == std::vector<double>{64});
}

TEST_CASE("transfers to and from host memory", "[metrics]") {
  const ServerSpec server = machines::four_switches().spec();
  // Two cards of one switch from host memory: the uplink, 64 together.
  CHECK(rates(server, {{Transfer::host, 0}, {Transfer::host, 1}}) == std::vector<double>{32, 32});
  CHECK(rates(server, {{0, Transfer::host}}) == std::vector<double>{64});
}

TEST_CASE("an uplink trained down slows what crosses it and nothing else", "[metrics]") {
  machines::Server server("trained-down");
  LinkType gen2 = machines::pcie5_x16();
  gen2.generation = 2;
  gen2.nominal = Bandwidth(8e9);
  server.socket("cpu0").pcie_switch("sw1", "cpu0").device("sw0", DeviceKind::pcie_switch).link("cpu0", "sw0", gen2);
  server.card("gpu0", "sw0").card("gpu1", "sw0").card("gpu2", "sw1");
  CHECK(rates(peers_everywhere(server.spec()), {{0, 1}, {0, 2}}) == std::vector<double>{56, 8});
}
