#include "report/topology_route.hpp"

#include "catch.hpp"
#include "topology/machines.hpp"

using namespace takt;

namespace {

std::string route(const ServerSpec& spec, const std::string& from, const std::string& to) {
  const Topology topology = machines::built(spec);
  return route_table(topology, topology.find(from).value(), topology.find(to).value());
}

}  // namespace

TEST_CASE("a route shows its links and what bounds it", "[report][topology]") {
  CHECK(route(machines::four_switches().spec(), "gpu0", "gpu1") ==
        "gpu0 -> gpu1: PIX, directly\n"
        "  link         type         nominal   measured  latency\n"
        "  -----------------------------------------------------\n"
        "  gpu0 -> sw0  pcie5-x16  64.0 GB/s  56.0 GB/s   300 ns\n"
        "  sw0 -> gpu1  pcie5-x16  64.0 GB/s  56.0 GB/s   300 ns\n"
        "  bottleneck: gpu0 -> sw0, 64.0 GB/s; latency 600 ns\n");
}

TEST_CASE("a staged route counts what it crosses twice", "[report][topology]") {
  // gpu0 and gpu2 are under switches of one socket: PHB is beyond PXB, so the data goes through host memory, which is
  // written and read: 300 / 2 = 150 is above the 64 of PCIe.
  const std::string text = route(machines::four_switches().spec(), "gpu0", "gpu2");
  CHECK(text.find("gpu0 -> gpu2: PHB, staged through host memory on the receiver's side\n") == 0);
  CHECK(text.find("cpu0 -> cpu0-memory") != std::string::npos);
  CHECK(text.find("bottleneck: gpu0 -> sw0, 64.0 GB/s") != std::string::npos);
}

TEST_CASE("a machine's narrowest split", "[report][topology]") {
  CHECK(bisection_line(machines::built(machines::four_switches().spec())) ==
        "  bisection: 100 GB/s a direction, both at once, gpu0 gpu1 gpu2 gpu3 | gpu4 gpu5 gpu6 gpu7, over\n"
        "  cpu0 -> cpu1\n");
  CHECK(bisection_line(machines::built(machines::direct(1).spec())).empty());
}
