// What NCCL chooses, priced on real links: the boxes the network study explains.
#include "collective/nccl/plan_runtime.hpp"

#include "cases.hpp"
#include "catch.hpp"

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
