// States of a machine against published figures: each changes a predicted transfer as it was measured.
#include "catch.hpp"
#include "metrics/copy_rates.hpp"
#include "topology/data.hpp"
#include "topology/platform_state.hpp"

#include <numeric>

using namespace takt;

namespace {

/// All transfers together, GB/s, on a machine whose cards write over every path (what CUDA copies do).
double together(const std::string& server, Overrides overrides, const std::vector<Transfer>& transfers) {
  const bool decided = std::any_of(overrides.begin(), overrides.end(), [](const Override& o) {
    return o.key == "platform.peer_to_peer.enabled" || o.key == "platform.peer_to_peer.iommu";
  });
  if (!decided) overrides.push_back({"platform.peer_to_peer.level", "SYS"});
  const PlatformState state = data::value_or_throw(read_platform(overrides));
  const ServerSpec spec =
      data::value_or_throw(in_platform_state(data::server(server), state, {data::cards(), data::link_types()}));
  const Topology topology = data::value_or_throw(build_topology(spec, data::cards(), LinkBasis::measured));
  double sum = 0.0;
  for (const Bandwidth rate : copy_rates(topology, transfers)) sum += rate.count() / 1e9;
  return sum;
}

const std::string switches = "8x-rtx-pro-6000-server-4-switches";
const std::vector<Transfer> same_switch = {{0, 1}};
const std::vector<Transfer> both_ways = {{0, 1}, {1, 0}};
const std::vector<Transfer> across_sockets = {{0, 4}};
const std::vector<Transfer> across_both_ways = {{0, 4}, {4, 0}};

}  // namespace

TEST_CASE("ACS halves what two cards of one switch exchange: measured 103 and 50 GB/s", "[metrics]") {
  const double off = together(switches, {}, both_ways);
  const double on = together(switches, {{"platform.peer_to_peer.acs", "true"}}, both_ways);
  CHECK(off == Approx(111.0));  // of links.toml; 103 on the switch where ACS was measured
  CHECK(on / off == Approx(0.5));
  CHECK(on / off == Approx(50.0 / 103.0).epsilon(0.05));
}

TEST_CASE("an uplink forced to Gen2 carries 7 GB/s and leaves its switch alone", "[metrics]") {
  const Overrides gen2 = {{"platform.trained_down.devices", "sw0"}, {"platform.trained_down.generation", "2"}};
  CHECK(together(switches, gen2, {{0, 2}}) == Approx(7.0));
  CHECK(together(switches, gen2, same_switch) == together(switches, {}, same_switch));
}

TEST_CASE("generation and width: Gen4 26.3, x8 half of x16", "[metrics]") {
  CHECK(together(switches, {}, same_switch) == Approx(56.3));
  CHECK(together(switches, {{"platform.pcie.generation", "4"}}, same_switch) == Approx(26.3));
  CHECK(together(switches, {{"platform.pcie.lanes", "8"}}, same_switch) == Approx(28.2));
}

TEST_CASE("socket links: Turin 51 and 99 GB/s, Genoa 39 and 64, one cap for both directions", "[metrics]") {
  const auto with = [](const char* link, const std::vector<Transfer>& transfers) {
    return together(switches, {{"platform.socket.link", link}}, transfers);
  };
  CHECK(with("xgmi-turin", across_sockets) == Approx(51.0));
  CHECK(with("xgmi-turin", across_both_ways) == Approx(99.0));
  CHECK(with("xgmi-genoa", across_sockets) == Approx(39.0));
  CHECK(with("xgmi-genoa", across_both_ways) == Approx(64.0));
  CHECK(together(switches, {{"platform.socket.bandwidth", "20 GB/s"}}, across_sockets) == Approx(20.0));
  CHECK(together(switches, {{"platform.socket.bandwidth", "20 GB/s"}, {"platform.socket.both_directions", "25 GB/s"}},
                 across_both_ways) == Approx(25.0));
}

TEST_CASE("host memory bounds copies from it, and what is staged in it", "[metrics]") {
  const std::vector<Transfer> from_host = {{Transfer::host, 0}, {Transfer::host, 2}};
  CHECK(together(switches, {}, from_host) == Approx(112.6));
  CHECK(together(switches, {{"platform.socket.memory_bandwidth", "50 GB/s"}}, from_host) == Approx(50.0));
}

TEST_CASE("peer-to-peer off and a translating IOMMU stage what was direct", "[metrics]") {
  const double direct = together(switches, {}, both_ways);
  CHECK(together(switches, {{"platform.peer_to_peer.enabled", "false"}}, both_ways) < direct / 1.9);
  CHECK(together(switches, {{"platform.peer_to_peer.iommu", "true"}}, both_ways) ==
        together(switches, {{"platform.peer_to_peer.enabled", "false"}}, both_ways));
}
