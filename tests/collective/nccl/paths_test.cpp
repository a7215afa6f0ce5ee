// N10-N14: path types, which cards exchange directly, and where NCCL leaves the shortest way.
#include "catch.hpp"

#include "cases.hpp"
#include "collective/nccl/nic_affinity.hpp"

using namespace takt;
using namespace takt::test;
using nccl::Transport;

namespace {

nccl::RoutedMachine routed(const std::string& fixture, const NcclSettings& settings = {}) {
  return nccl::route(fixture_system(fixture), settings);
}

}  // namespace

TEST_CASE("Path types and bandwidths", "[nccl]") {
  struct Expected {
    const char* fixture;
    std::size_t from, to;
    NcclPathType type;
    double gigabytes;
  };
  const std::vector<Expected> table{
      {"hgx_h100_8", 0, 7, NcclPathType::nvl, 370.8},                  // 18 x 20.6
      {"h200nvl_8_quads_sw4_spr", 0, 3, NcclPathType::nvl, 123.6},     // 6 x 20.6
      {"h200nvl_8_quads_sw4_spr", 0, 4, NcclPathType::sys, 22.0},      // Sapphire Rapids
      {"h200nvl_8_quads_sw4_emr", 0, 4, NcclPathType::sys, 40.0},      // Emerald Rapids
      {"h100pcie_8_sw4_emr", 0, 1, NcclPathType::pix, 48.0},           // one switch, generation 5 x16
      {"l40s_8_direct_amd", 0, 1, NcclPathType::phb, 24.0},            // one socket, generation 4 x16
      {"l40s_8_direct_amd", 0, 7, NcclPathType::sys, 16.0},            // AMD
      {"a100pcie_8_pairs_sw4_icx", 0, 7, NcclPathType::sys, 10.0},     // Ice Lake
      {"rtx3090_2_bridge_amd1s", 0, 1, NcclPathType::nvl, 48.0},       // 4 x 12 (sm86)
  };
  for (const Expected& expected : table) {
    CAPTURE(expected.fixture, expected.from, expected.to);
    const nccl::RoutedMachine machine = routed(expected.fixture);
    const nccl::Path& path = machine.gpu_path(expected.from, expected.to);
    CHECK(path.type == expected.type);
    CHECK(to_gigabytes(path.speed) == Approx(expected.gigabytes));
  }
}

TEST_CASE("A card without a direct NVLink goes by way of one other card, not two", "[nccl]") {
  // A chain of four cards: 0-1-2-3.
  NcclSystem system = fixture_system("l40s_4_direct_amd1s");
  const auto join = [&](std::size_t a, std::size_t b) {
    system.gpus[a].nvlinks.push_back({GpuEnd{b}, 4});
    system.gpus[b].nvlinks.push_back({GpuEnd{a}, 4});
  };
  join(0, 1), join(1, 2), join(2, 3);
  const nccl::RoutedMachine machine = nccl::route(system, {});
  CHECK(machine.gpu_path(0, 1).type == NcclPathType::nvl);
  CHECK(machine.gpu_path(0, 2).type == NcclPathType::nvb);
  CHECK(machine.gpu_path(0, 3).type == NcclPathType::phb);
  CHECK(machine.transport(0, 2) == Transport::p2p);
}

TEST_CASE("Peer-to-peer by level", "[nccl]") {
  struct Expected {
    const char* why;
    const char* fixture;
    NcclSettings settings;
    std::size_t from, to;
    Transport transport;
  };
  NcclSettings sys, disabled, pix, old;
  sys.p2p_level = NcclPathType::sys;
  pix.p2p_level = NcclPathType::pix;
  disabled.p2p_disable = Switch::on;
  old.version = NcclVersion::v2_21;
  const std::vector<Expected> table{
      {"one switch", "h100pcie_8_sw4_emr", {}, 0, 1, Transport::p2p},
      {"a host bridge is too far", "l40s_4_direct_spr1s", {}, 0, 1, Transport::shm},
      {"two sockets are too far", "h100pcie_8_sw4_emr", {}, 0, 4, Transport::shm},
      {"unless asked for", "h100pcie_8_sw4_emr", sys, 0, 4, Transport::p2p},
      {"or less is asked for", "h100pcie_8_direct_emr", pix, 0, 1, Transport::shm},
      {"two cards on AMD", "rtx4090_2_direct_amd1s", {}, 0, 1, Transport::p2p},
      {"four cards on AMD", "rtx4090_4_direct_amd1s", {}, 0, 1, Transport::shm},
      {"four cards on AMD, NCCL 2.21", "rtx4090_4_direct_amd1s", old, 0, 1, Transport::p2p},
      {"switched off, even over NVLink", "h200nvl_4_quad_direct_spr1s", disabled, 0, 1, Transport::shm},
      {"NVLink", "h200nvl_4_quad_direct_spr1s", {}, 0, 1, Transport::p2p},
  };
  for (const Expected& expected : table) {
    CAPTURE(expected.why);
    CHECK(routed(expected.fixture, expected.settings).transport(expected.from, expected.to) == expected.transport);
  }
  SECTION("a driver that refuses (GeForce) overrules NCCL") {
    NcclSystem system = fixture_system("rtx4090_2_direct_amd1s");
    for (NcclGpu& gpu : system.gpus) gpu.peer_access = PeerAccess::refused;
    CHECK(nccl::route(system, sys).transport(0, 1) == Transport::shm);
  }
}

TEST_CASE("Host staging lands on the receiver's socket", "[nccl]") {
  // N12. From card 0 (socket 0) to card 7 (socket 1): up, across, down. The CPU next to the receiver is on the way.
  const nccl::RoutedMachine machine = routed("l40s_8_direct_spr");
  const nccl::Path& path = machine.gpu_path(0, 7);
  std::vector<nccl::VertexKind> passed;
  for (const nccl::LinkIndex link : path.links) passed.push_back(machine.graph.at(machine.graph.at(link).to).kind);
  CHECK(passed == std::vector{nccl::VertexKind::cpu, nccl::VertexKind::cpu, nccl::VertexKind::gpu});
}

TEST_CASE("A fast NIC under each switch splits a server", "[nccl]") {
  const NcclSystem system = fixture_system("h100pcie_8_sw4_2nic_spr");
  SECTION("48 GB/s to the NIC against 22 between the sockets: two nodes of four cards") {
    const Result<NcclPlan> plan = plan_nccl(std::vector{system}, {});
    REQUIRE(plan.has_value());
    REQUIRE(plan->communicator.nodes.size() == 2);
    CHECK(plan->communicator.nodes[0].ranks == std::vector<std::int64_t>{0, 1, 2, 3});
    CHECK(plan->communicator.nodes[1].ranks == std::vector<std::int64_t>{4, 5, 6, 7});
    CHECK(plan->communicator.ring.channels == 2);
    CHECK(to_gigabytes(plan->communicator.ring.speed_inter) == 24.0);
  }
  SECTION("switched off: one node") {
    NcclSettings settings;
    settings.net_disable_intra = Switch::on;
    const Result<NcclPlan> plan = plan_nccl(std::vector{system}, settings);
    REQUIRE(plan.has_value());
    CHECK(plan->communicator.nodes.size() == 1);
    CHECK(to_gigabytes(plan->communicator.ring.speed_intra) == 11.0);
  }
  SECTION("a NIC on a root port does not count") {
    const Result<NcclPlan> plan = plan_nccl(std::vector{fixture_system("rtx6000bw_8_direct_amd_eth")}, {});
    REQUIRE(plan.has_value());
    CHECK(plan->communicator.nodes.size() == 1);
  }
}

TEST_CASE("NICs near cards, GPUDirect and PXN", "[nccl]") {
  const nccl::RoutedMachine machine = routed("hgx_h100_8");
  for (std::size_t gpu = 0; gpu < 8; ++gpu) {
    CHECK(nccl::nets_of_gpu(machine, gpu) == std::vector<std::size_t>{gpu});
    CHECK(machine.nearest_gpu[gpu] == gpu);
    CHECK(nccl::uses_direct_rdma(machine, gpu, gpu, nccl::RdmaDirection::write));
  }
  CHECK(machine.path_to_net(0, 0).type == NcclPathType::pix);
  CHECK(machine.path_to_net(0, 5).type == NcclPathType::pxn);  // by way of card 5
  SECTION("without PXN the way leads over the sockets, where GPUDirect stops") {
    NcclSettings settings;
    settings.pxn_disable = Switch::on;
    const nccl::RoutedMachine plain = routed("hgx_h100_8", settings);
    CHECK(plain.path_to_net(0, 5).type == NcclPathType::sys);
    CHECK_FALSE(nccl::uses_direct_rdma(plain, 0, 5, nccl::RdmaDirection::write));
    settings.net_gdr_level = NcclPathType::sys;
    CHECK(nccl::uses_direct_rdma(routed("hgx_h100_8", settings), 0, 5, nccl::RdmaDirection::write));
  }
  SECTION("a level below the switch: traffic is staged by the CPU") {
    NcclSettings settings;
    settings.net_gdr_level = NcclPathType::loc;
    CHECK(routed("hgx_h100_8", settings).path_to_net(0, 0).type == NcclPathType::phb);
  }
}
