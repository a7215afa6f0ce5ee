// Memory of NCCL's connections (semantics N70).
#include "collective/nccl/buffers.hpp"

#include "../../support/hardware.hpp"
#include "../../support/source_dir.hpp"
#include "base/csv.hpp"
#include "catch.hpp"
#include "collective/lowering.hpp"

#include <fstream>
#include <map>
#include <string>

using namespace takt;
using namespace takt::nccl;

namespace {

constexpr std::int64_t mebi = 1024 * 1024;

/// What a call leaves on a card of a machine.
Bytes on_card(const std::string& machine, std::size_t cards, CollectiveSettings settings) {
  const Topology topology = test::server(machine, LinkBasis::measured);
  CollectiveOptions options;
  options.settings = settings;
  CollectiveLowering lowering(topology, options);
  const CollectiveCall call{CollectiveKind::all_reduce, Bytes(1'000'000'000)};
  return lowering.price(call, test::vertices(topology, cards)).value().lowered.buffers.on_card;
}

}  // namespace

TEST_CASE("NCCLMEM rows: the buffers of a receiving connection (N70)", "[nccl]") {
  const std::map<std::string, Bytes> computed = {{"LL", buffer_bytes(NcclProtocol::ll)},
                                                 {"LL128", buffer_bytes(NcclProtocol::ll128)},
                                                 {"Simple", buffer_bytes(NcclProtocol::simple)},
                                                 {"sum", receive_buffer_bytes()}};
  std::ifstream file(test::source_dir() + "/tests/collective/data/nccl_memory.csv");
  REQUIRE(file);
  std::size_t rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#' || line.rfind("section", 0) == 0) continue;
    const std::vector<std::string> cells = csv_cells(line);
    INFO(line);
    REQUIRE(cells.size() == 6);
    CHECK(computed.at(cells[1]).count() == std::stoll(cells[3]));
    ++rows;
  }
  CHECK(rows == 4);
}

TEST_CASE("a ring of 24 channels takes 231 MB, a tree twice that, NVLS 256 MiB on eight cards (N70)", "[nccl]") {
  Connections connections{NcclAlgorithm::ring, 24, 16, 8, {}};
  connections.hops.nvlink = 8;
  CHECK(bytes_on_card(connections) == Bytes(24 * 9'633'792));
  connections.algorithm = NcclAlgorithm::tree;
  CHECK(bytes_on_card(connections) == Bytes(2 * 24 * 9'633'792));
  connections.algorithm = NcclAlgorithm::nvls;
  CHECK(bytes_on_card(connections) == Bytes(256 * mebi));
}

TEST_CASE("connections through host memory have their buffers there (N70)", "[nccl]") {
  Connections connections{NcclAlgorithm::ring, 2, 0, 2, {}};
  connections.hops.shm = 2;
  CHECK(bytes_on_card(connections) == Bytes(0));
  connections.hops.p2p = 1;  // one card receives from a peer
  CHECK(bytes_on_card(connections) == Bytes(2 * 9'633'792));
}

TEST_CASE("M7: some 20 to 40 MB on PCIe boxes of few channels, 0.2 GB and more where NVSwitches join the cards",
          "[nccl]") {
  CollectiveSettings rings;
  rings.algorithm = CollectiveAlgorithm::ring;
  const Bytes bridge = on_card("2x-rtx-pro-6000-server", 2, rings);
  CHECK(bridge >= Bytes(2 * 9'633'792));
  CHECK(bridge <= Bytes(4 * 9'633'792));
  CHECK(on_card("8x-h100-sxm-hgx", 8, rings) >= Bytes(200'000'000));
  CollectiveSettings nvls;
  nvls.algorithm = CollectiveAlgorithm::nvls;
  CHECK(on_card("8x-h100-sxm-hgx", 8, nvls) == Bytes(256 * mebi));
}
