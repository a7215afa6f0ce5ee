// What NCCL chooses, priced on real links: the boxes the network study explains.
#include "catch.hpp"

#include "cases.hpp"
#include "collective/nccl/plan_runtime.hpp"

using namespace takt;
using namespace takt::test;

TEST_CASE("Hops of a ring by kind", "[nccl]") {
  struct Expected {
    const char* name;
    std::int64_t nvlink, p2p, shm, net;
  };
  for (const Expected& expected : {Expected{"hgx_h100_8_n1", 8, 0, 0, 0}, Expected{"hgx_h100_8_n2", 14, 0, 0, 2},
                                   Expected{"l40s_8_direct_spr_n1", 0, 0, 8, 0},
                                   Expected{"h100pcie_8_sw4_emr_n1", 0, 6, 2, 0},       // one switch a socket
                                   Expected{"h200nvl_8_quads_sw4_spr_n1", 6, 0, 2, 0},  // out of each quad once
                                   Expected{"rtx4090_2_direct_amd1s_n1", 0, 2, 0, 0}}) {
    CAPTURE(expected.name);
    const RingHops hops = hops_of_ring(plan_of_case(expected.name), 0);
    CHECK(hops.nvlink == expected.nvlink);
    CHECK(hops.p2p == expected.p2p);
    CHECK(hops.shm == expected.shm);
    CHECK(hops.net == expected.net);
  }
}

TEST_CASE("Boxes that the network study explains", "[nccl]") {
  const auto bus_bandwidth = [](const std::string& name, const CollectiveCall& call, double edge_rate) {
    const NcclPlan& plan = plan_of_case(name);
    const RuntimeQuery query = runtime_query(plan, call, choose(plan, call), {edge_rate, 0.0});
    const auto ranks = static_cast<double>(plan.communicator.ranks);
    const double factor = (call.kind == CollectiveKind::all_reduce ? 2 : 1) * (ranks - 1) / ranks;
    return static_cast<double>(call.bytes.count()) * factor / estimate_runtime(query).time_us() / 1e3;
  };
  const CollectiveCall gather{CollectiveKind::all_gather, Bytes(512 << 20)};
  const CollectiveCall reduce{CollectiveKind::all_reduce, Bytes(512 << 20)};
  const double staged = 0.60 * 63.0;  // GB/s, PCIe generation 5 through host memory

  SECTION("8x RTX PRO 6000 on SPR-like sockets: 2 CTAs bind; measured 23.0 all-gather, 24.7 all-reduce") {
    CHECK(bus_bandwidth("rtx6000bw_8_sw4_spr_n1", gather, staged) == Approx(23.0).epsilon(0.03));
    CHECK(bus_bandwidth("rtx6000bw_8_sw4_spr_n1", reduce, staged) == Approx(24.7).epsilon(0.03));
  }
  SECTION("8x H200 NVL, two quads: the tree crosses once with the buffer, 39.2 GB/s a crossing; measured 68.7") {
    const NcclPlan plan = plan_of_case("h200nvl_8_quads_sw4_spr_n1");
    const CollectiveCall large{CollectiveKind::all_reduce, Bytes(std::int64_t{8} << 30)};
    CHECK(choose(plan, large).algorithm == NcclAlgorithm::tree);
    CHECK(bus_bandwidth("h200nvl_8_quads_sw4_spr_n1", large, staged) == Approx(68.7).epsilon(0.05));
  }
  SECTION("HGX H200: ring all-gather 337 measured; NVLS all-reduce 482") {
    CHECK(bus_bandwidth("hgx_h200_8_emr_n1", gather, 370.8) == Approx(337).epsilon(0.03));
    CHECK(bus_bandwidth("hgx_h200_8_emr_n1", {CollectiveKind::all_reduce, Bytes(std::int64_t{8} << 30)}, 370.8) ==
          Approx(482).epsilon(0.04));
  }
}
