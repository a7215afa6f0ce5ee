#include "topology/import/p2p_log.hpp"

#include "catch.hpp"

using namespace takt;

namespace {

const std::string log_of_two =
    "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"
    "Device: 0, NVIDIA GeForce RTX 5090, pciBusID: 1, pciDeviceID: 0, pciDomainID:0\n"
    "Device: 1, NVIDIA GeForce RTX 5090, pciBusID: 81, pciDeviceID: 0, pciDomainID:0\n"
    "Device=0 CANNOT Access Peer Device=1\n\n"
    "P2P Connectivity Matrix\n     D\\D     0     1\n     0\t     1     0\n     1\t     0     1\n"
    "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n     0 1516.99  38.24 \n"
    "     1  38.92 1537.94 \n"
    "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n     0 1528.05  43.03 \n"
    "     1  42.78 1540.10 \n"
    "P2P=Enabled Latency (P2P Writes) Matrix (us)\n   GPU     0      1 \n     0   2.07  14.31 \n     1  14.32   2.07 "
    "\n\n"
    "   CPU     0      1 \n     0   1.50   4.10 \n     1   4.00   1.60 \n\n"
    "NOTE: The CUDA Samples are not meant for performance measurements.\n";

}  // namespace

TEST_CASE("a log holds its devices and matrices", "[import]") {
  const Result<P2pLog> log = read_p2p_log({"p2p.txt", log_of_two});
  REQUIRE(log.has_value());
  CHECK(log->devices == std::vector<std::string>{"NVIDIA GeForce RTX 5090", "NVIDIA GeForce RTX 5090"});
  REQUIRE(log->matrices.size() == 3);
  CHECK(log->matrices[0].access == P2pAccess::off);
  CHECK(log->matrices[0].values == std::vector<std::vector<double>>{{1516.99, 38.24}, {38.92, 1537.94}});
  CHECK(log->matrices[1].measure == P2pMeasure::bandwidth_both_directions);
  CHECK(log->matrices[1].access == P2pAccess::on);
  CHECK(log->matrices[2].measure == P2pMeasure::latency);
  CHECK(log->matrices[2].values[0][1] == 14.31);
}

TEST_CASE("a log that is cut off or holds no matrix is refused", "[import]") {
  const std::string title = "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n";
  CHECK(render(read_p2p_log({"p.txt", title + "     0 1516.99  38\n"}).diagnostics()) ==
        "p.txt:1:1: error: the matrix has 2 columns but 1 rows\n"
        "    1 | Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n"
        "      | ^\n"
        "hint: is the log cut off?\n");
  CHECK(render(read_p2p_log({"p.txt", title + "     0 1516.99  x\n     1 1 2\n"}).diagnostics()) ==
        "p.txt:3:17: error: \"x\" is no number\n"
        "    3 |      0 1516.99  x\n"
        "      |                 ^\n"
        "hint: is the log cut off?\n");
  CHECK(render(read_p2p_log({"p.txt", "hello\n"}).diagnostics()) ==
        "p.txt: error: no bandwidth or latency matrix in the log\n"
        "hint: is this the output of p2pBandwidthLatencyTest?\n");
}
