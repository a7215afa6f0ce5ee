// Takt's own servers as NCCL would see them.
#include "collective/nccl/from_topology.hpp"

#include "cases.hpp"
#include "catch.hpp"
#include "config/library.hpp"
#include "support/source_dir.hpp"

using namespace takt;
using namespace takt::test;

namespace {

Topology topology_named(const std::string& name) {
  Library library(SearchPath{{takt::test::source_dir()}});
  const auto spec = library.topology(name, {});
  REQUIRE(spec.has_value());
  const auto* cluster = std::get_if<ClusterSpec>(&*spec);
  const auto server = cluster ? library.server(cluster->server, {}) : Result<ServerSpec>(std::get<ServerSpec>(*spec));
  REQUIRE(server.has_value());
  std::map<std::string, CardSpec> cards;
  for (const DeviceSpec& device : server->devices) {
    if (device.kind == DeviceKind::card) cards[device.card] = *library.card(device.card, {});
  }
  auto topology = cluster ? build_topology(*cluster, *server, cards, LinkBasis::measured)
                          : build_topology(*server, cards, LinkBasis::measured);
  REQUIRE(topology.has_value());
  return *std::move(topology);
}

std::vector<VertexId> cards_of(const Topology& topology, std::size_t count) {
  std::vector<VertexId> cards;
  for (std::size_t i = 0; i < count; ++i) cards.push_back(topology.cards()[i].vertex);
  return cards;
}

NcclPlan plan_of(const std::string& name, std::size_t ranks, NcclSettings settings = {}) {
  const Topology topology = topology_named(name);
  const auto members = cards_of(topology, ranks);
  Result<NcclPlan> plan =
      plan_nccl(nccl_systems(members, topology), with_peer_to_peer_of(settings, topology.server_spec()));
  REQUIRE(plan.has_value());
  return *std::move(plan);
}

}  // namespace

TEST_CASE("Servers of the data folder look to NCCL like the fixtures of the same build", "[nccl]") {
  struct Pair {
    const char* server;
    std::size_t ranks;
    const char* fixture_case;
  };
  for (const Pair& pair : {Pair{"8x-h200-sxm-hgx", 8, "hgx_h200_8_emr_n1"},
                           Pair{"4x-h200-nvl-4-way-bridge", 4, "h200nvl_4_quad_direct_spr1s_n1"},
                           Pair{"8x-rtx-pro-6000-server-dual-turin", 8, "rtx6000bw_8_direct_amd_eth_n1"}}) {
    CAPTURE(pair.server);
    const nccl::Communicator found = plan_of(pair.server, pair.ranks).communicator;
    const nccl::Communicator& expected = plan_of_case(pair.fixture_case).communicator;
    CHECK(found.nodes.size() == 1);
    CHECK(found.ring.channels == expected.ring.channels);
    CHECK(found.ring.speed_intra == expected.ring.speed_intra);
    CHECK(found.ring.type_intra == expected.ring.type_intra);
    CHECK(found.tree.speed_intra == expected.tree.speed_intra);
    CHECK(found.nvls.channels == expected.nvls.channels);
    CHECK(found.channels == expected.channels);
    CHECK(found.rings == expected.rings);
  }
}

TEST_CASE("A pair of a four-way bridge has six NVLinks between its cards", "[nccl]") {
  const Topology topology = topology_named("4x-h200-nvl-4-way-bridge");
  const std::vector<NcclSystem> systems = nccl_systems(cards_of(topology, 2), topology);
  REQUIRE(systems.size() == 1);
  REQUIRE(systems[0].gpus.size() == 2);
  REQUIRE(systems[0].gpus[0].nvlinks.size() == 1);
  CHECK(systems[0].gpus[0].nvlinks[0] == NcclNvlink{GpuEnd{1}, 6});
  CHECK(systems[0].gpus[0].slot.speed == NcclSpeed(48000));
}

TEST_CASE("Ranks follow the members, cards the bus", "[nccl]") {
  const Topology topology = topology_named("4x-h200-nvl-4-way-bridge");
  const auto cards = topology.cards();
  const std::vector<VertexId> members{cards[3].vertex, cards[1].vertex};
  const std::vector<NcclSystem> systems = nccl_systems(members, topology);
  CHECK(systems[0].gpus[0].device == 1);
  CHECK(systems[0].gpus[0].rank == 1);
  CHECK(systems[0].gpus[1].device == 3);
  CHECK(systems[0].gpus[1].rank == 0);
}

TEST_CASE("Clusters", "[nccl]") {
  const Topology topology = topology_named("2x-8x-rtx-pro-6000-400g");
  const std::vector<NcclSystem> systems = nccl_systems(cards_of(topology, 16), topology);
  REQUIRE(systems.size() == 2);
  CHECK(systems[1].gpus[0].rank == 8);
  CHECK(systems[0].nics.front().nets.front().speed == NcclSpeed(50000));  // 400 Gb/s
  const NcclPlan plan = plan_of("2x-8x-rtx-pro-6000-400g", 16);
  CHECK(plan.communicator.ranks == 16);
  CHECK(plan.communicator.nodes.size() >= 2);
}

TEST_CASE("Peer-to-peer as the server's file says", "[nccl]") {
  ServerSpec server;
  server.peer_to_peer.level = "SYS";
  CHECK(with_peer_to_peer_of({}, server).p2p_level == NcclPathType::sys);
  server.peer_to_peer.enabled = false;
  CHECK(with_peer_to_peer_of({}, server).p2p_disable == Switch::on);
  NcclSettings asked;
  asked.p2p_level = NcclPathType::pix;
  CHECK(with_peer_to_peer_of(asked, server).p2p_level == NcclPathType::pix);
  CHECK_FALSE(with_peer_to_peer_of({}, ServerSpec{}).p2p_level.has_value());
}
