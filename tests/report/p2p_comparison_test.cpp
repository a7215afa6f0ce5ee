#include "report/p2p_comparison.hpp"

#include "catch.hpp"
#include "topology/machines.hpp"

using namespace takt;

TEST_CASE("a log beside the predictions, with the pairs that are off", "[report][topology]") {
  // Nominal PCIe 64: the pair measures 62 one way and 32 the other, where something is wrong.
  machines::Server server("pair");
  server.socket("cpu0").pcie_switch("sw0", "cpu0").card("gpu0", "sw0").card("gpu1", "sw0");
  const Topology topology = machines::built(server.spec());
  P2pMatrix matrix;
  matrix.access = P2pAccess::on;
  matrix.values = {{1500, 62}, {32, 1500}};
  CHECK(*p2p_comparison(matrix, topology) ==
        "one direction, peer-to-peer on: measured/predicted, GB/s\n"
        "  from/to          0          1\n"
        "  -----------------------------\n"
        "        0          -  62.0/64.0\n"
        "        1  32.0/64.0          -\n"
        "  median error 51.6 %\n"
        "  1 -> 0: measured 32.0, predicted 64.0 by gpu1 -> sw0 (pcie5-x16)\n");
  matrix.values = {{1500}};
  CHECK(p2p_comparison(matrix, topology).diagnostics().front().message == "the log has 1 devices, pair has 2 cards");
}
