#include "metrics/copy_rates.hpp"

#include "catch.hpp"
#include "metrics/copy_limits.hpp"
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

double throughput(const ServerSpec& spec, const std::vector<Transfer>& transfers) {
  return throughput_of_equal_copies(machines::built(spec, LinkBasis::nominal), transfers).count() / 1e9;
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

TEST_CASE("the driver's copies through host memory reach a share of PCIe, and both directions little more",
          "[metrics]") {
  ServerSpec off = machines::direct(4, "plain").spec();
  off.peer_to_peer.enabled = false;
  // One direction: 0.755 of 64. Both: 1.09 of that together. Another pair has its own buffer and its own links.
  const double one = staged_copy_share * 64;
  CHECK(rates(off, {{0, 1}}).front() == Approx(one));
  const std::vector<double> both = rates(off, {{0, 1}, {1, 0}, {2, 3}});
  CHECK(both[0] + both[1] == Approx(staged_both_directions * one));
  CHECK(both[2] == Approx(one));
}

TEST_CASE("staged copies leave a link's idle time to others", "[metrics]") {
  ServerSpec off = machines::four_switches().spec();
  off.peer_to_peer.enabled = false;
  // Two staged transfers leave by one uplink: x1 + x2 = 64 of the link, not of the share.
  const std::vector<double> shared = rates(off, {{0, 4}, {1, 5}});
  CHECK(shared[0] + shared[1] == Approx(64.0));
}

TEST_CASE("uniform all-to-all through one switch reaches the share of an input-queued switch", "[metrics]") {
  // Four ports of 64 with three transfers each way: 64 / 3 each without blocking, 0.6825 of it with three contenders.
  std::vector<Transfer> all;
  for (std::int64_t from = 0; from < 4; ++from) {
    for (std::int64_t to = 0; to < 4; ++to) {
      if (from != to) all.push_back({from, to});
    }
  }
  ServerSpec flat = peers_everywhere(machines::direct(4, "plain").spec());
  for (const double rate : rates(flat, all)) CHECK(rate == Approx(64.0 / 3 * 0.6825));
  // A pair more from one port: not uniform, and the port that is asked for more stays busy.
  std::vector<Transfer> uneven = all;
  uneven.push_back({0, 1});
  CHECK(rates(flat, uneven).front() == Approx(64.0 / 4));
  // Two ports have nothing to contend for.
  CHECK(rates(flat, {{0, 1}, {1, 0}}) == std::vector<double>{64, 64});
  CHECK(head_of_line_share(1) == 1.0);
  CHECK(head_of_line_share(100) < head_of_line_share(8));
}

TEST_CASE("equal copies: the time of the last one counts, and those that go on take what others leave", "[metrics]") {
  const ServerSpec server = peers_everywhere(machines::four_switches().spec());
  // gpu0 -> gpu2 shares gpu0's link with gpu0 -> gpu1: both 32, two bytes in 1 / 32.
  CHECK(throughput(server, {{0, 1}, {0, 2}}) == Approx(64.0));
  // Three leave gpu0 at 64 / 3, one leaves gpu4 at 64 and ends first: four bytes in 3 / 64.
  CHECK(throughput(server, {{0, 1}, {0, 2}, {0, 3}, {4, 5}}) == Approx(4 * 64.0 / 3));
  // gpu1 -> gpu2 and gpu0 -> gpu2 share gpu2's link and sw0's uplink, gpu0 -> gpu1 takes the other half of gpu0's: all
  // 32, one round of 1 / 32.
  CHECK(throughput(server, {{1, 2}, {0, 2}, {0, 1}}) == Approx(3 * 32.0));
  // gpu0 -> gpu1 and gpu0 -> gpu2 at 32; gpu3 -> gpu2 at 32 too. gpu4 -> gpu5 ends at 1 / 64 and changes nothing.
  CHECK(throughput(server, {{0, 1}, {0, 2}, {3, 2}, {4, 5}}) == Approx(4 * 32.0));
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
