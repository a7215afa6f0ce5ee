#include "../topology/machines.hpp"
#include "catch.hpp"
#include "report/report.hpp"

using namespace takt;
using namespace takt::machines;

TEST_CASE("a server on one screen: sockets, path types, bandwidths, bridges, links, assumptions", "[report]") {
  Server server("small");
  server.socket("cpu0").socket("cpu1").link("cpu0", "cpu1", socket_link());
  server.pcie_switch("sw0", "cpu0");
  server.card("gpu0", "sw0", "bridged").card("gpu1", "sw0", "bridged").card("gpu2", "cpu1", "bridged");
  server.bridge({"gpu0", "gpu1"});
  ServerSpec spec = server.spec();
  spec.title = "Three cards on two sockets";
  spec.source = "made up";
  spec.assumed = {"everything"};
  // gpu0 -> gpu2 stages in cpu1's memory: 40 GB/s over the sockets when measured, 64 over PCIe nominally.
  // gpu2 -> gpu0 likewise in cpu0's.
  REQUIRE(topology_table(built(spec, LinkBasis::measured)) ==
          R"(Three cards on two sockets
  3x Bridged Card (141 GB, 4800 GB/s); peer-to-peer up to PXB, IOMMU off, ACS off

  NUMA  socket  CPU        memory  GB/s  devices
  -----------------------------------------------------
     0  cpu0    intel-spr           300  sw0[gpu0 gpu1]
     1  cpu1    intel-spr           300  gpu2

  path  gpu0  gpu1  gpu2
  ----------------------
  gpu0     X  NV18   SYS
  gpu1  NV18     X   SYS
  gpu2   SYS   SYS     X

  GB/s     gpu0     gpu1    gpu2
  ------------------------------
  gpu0        -  450/450  64/40*
  gpu1  450/450        -  64/40*
  gpu2   64/40*   64/40*       -
  one transfer from row to column, nominal/measured; * through host memory

  bridge over gpu0 gpu1: 450/450 GB/s a pair and direction

  links, GB/s  count  nominal  measured  sum  latency  source
  -----------------------------------------------------------
  test             2      300       250  250   300 ns
  test             1      100      40.0        300 ns
  pcie5-x16        4     64.0      56.0  110   300 ns
  nvlink           1      450       450           0 s
  a direction; sum = cap of both directions together; sources in full: links.toml

  assumed: everything
  source: made up
)");
}

TEST_CASE("a cluster shows its first server and the ways between servers", "[report]") {
  Server server("node");
  server.socket("cpu0").pcie_switch("sw0", "cpu0").card("gpu0", "sw0").nic("nic0", "sw0");
  ClusterSpec cluster;
  cluster.title = "Two of them";
  cluster.count = 2;
  cluster.nic_speed = Bandwidth(50e9);
  const Result<Topology> topology = build_topology(cluster, server.spec(), cards(), LinkBasis::nominal);
  const std::string text = topology_table(*topology);
  // 0.97 of 50 GB/s; 2 x 0.75 us in the NICs and 4 PCIe links of 0.3 us
  REQUIRE(text.find("to the same card of the next server: 50/48 GB/s, 2.70 us (gpu0 sw0 nic0 rail0 nic0 sw0 gpu0)") !=
          std::string::npos);
  REQUIRE(text.find("1x Plain Card (96.0 GB, 1600 GB/s) in each of 2 servers") != std::string::npos);
}
