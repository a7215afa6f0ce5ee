#include "topology/import/path_matrix.hpp"

#include "base/text.hpp"
#include "catch.hpp"

using namespace takt;

namespace {

/// The rows of a matrix in short: "GPU0: X NV6 PIX | 0-31 | 0".
std::string brief(const std::string& text) {
  const Result<PathMatrix> matrix = read_path_matrix({"m.txt", text});
  if (!matrix) return render(matrix.diagnostics());
  std::string result;
  for (std::size_t i = 0; i < matrix->devices.size(); ++i) {
    const MatrixDevice& device = matrix->devices[i];
    result += device.label + ":";
    for (std::size_t j = 0; j < matrix->devices.size(); ++j) {
      const PathEntry& entry = matrix->at(i, j);
      switch (entry.cell) {
        case PathCell::unknown:
          result += " ?";
          break;
        case PathCell::self:
          result += " X";
          break;
        case PathCell::nvlink:
          result += " NV" + std::to_string(entry.nvlinks);
          break;
        case PathCell::pix:
          result += " PIX";
          break;
        case PathCell::pxb:
          result += " PXB";
          break;
        case PathCell::phb:
          result += " PHB";
          break;
        case PathCell::node:
          result += " NODE";
          break;
        case PathCell::sys:
          result += " SYS";
          break;
      }
    }
    if (!device.cpu_affinity.empty()) result += " | " + device.cpu_affinity;
    if (device.numa_node) result += " | " + std::to_string(*device.numa_node);
    if (device.gpu_numa_node) result += " | gpu " + std::to_string(*device.gpu_numa_node);
    if (!device.adapter.empty()) result += " = " + device.adapter;
    result += "\n";
  }
  return result + render(matrix->warnings);
}

const std::string pair_of_cards = "GPU0: X SYS | 0-7 | 0\nGPU1: SYS X | 8-15 | 1\n";

}  // namespace

TEST_CASE("one matrix in the clothes people paste it in", "[import]") {
  const std::string esc = "\x1b";
  SECTION("tabs and colours, a tab too many before the last column") {
    CHECK(brief("\t" + esc + "[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID" + esc +
                "[0m\n"
                "GPU0\t X \tSYS\t0-7\t0\t\tN/A\nGPU1\tSYS\t X \t8-15\t1\t\tN/A\n") == pair_of_cards);
  }
  SECTION("a log that lost its escape characters") {
    CHECK(brief("\t[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity[0m\n"
                "GPU0\t X \tSYS\t0-7\t0\nGPU1\tSYS\t X \t8-15\t1\n") == pair_of_cards);
  }
  SECTION("spaces, carriage returns, a prompt before and a legend behind") {
    CHECK(brief("$ nvidia-smi topo -m\r\n"
                "        GPU0    GPU1    CPU Affinity    NUMA Affinity\r\n"
                "GPU0     X      SYS     0-7             0\r\n"
                "GPU1    SYS      X      8-15            1\r\n\r\n"
                "Legend:\r\n\r\n  X    = Self\r\n  SYS  = Connection traversing PCIe\r\n") == pair_of_cards);
  }
  SECTION("a log prefix on every line") {
    CHECK(brief("[rank0] 12:30:01 \tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
                "[rank0] 12:30:01 GPU0\t X \tSYS\t0-7\t0\n"
                "[rank0] 12:30:01 GPU1\tSYS\t X \t8-15\t1\n") == pair_of_cards);
  }
  SECTION("mpirun's tag without a space") {
    CHECK(brief("[1,0]<stdout>:\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
                "[1,0]<stdout>:GPU0\t X \tSYS\t0-7\t0\n"
                "[1,0]<stdout>:GPU1\tSYS\t X \t8-15\t1\n") == pair_of_cards);
  }
  SECTION("a Markdown table") {
    CHECK(brief("|      | GPU0 | GPU1 | CPU Affinity | NUMA Affinity |\n"
                "|------|------|------|--------------|---------------|\n"
                "| GPU0 | X    | SYS  | 0-7          | 0             |\n"
                "| GPU1 | SYS  | X    | 8-15         | 1             |\n") == pair_of_cards);
  }
  SECTION("the old name of SYS") {
    CHECK(
        brief(
            "      GPU0  GPU1  CPU Affinity  NUMA Affinity\nGPU0   X    SOC   0-7   0\nGPU1  SOC    X    8-15  1\n") ==
        pair_of_cards);
  }
}

TEST_CASE("affinity columns go missing, merge and hold lists", "[import]") {
  CHECK(brief("     GPU0 GPU1\nGPU0  X   NV6   NUMA 0\nGPU1 NV6   X   NUMA 1\n") ==
        "GPU0: X NV6 | 0\nGPU1: NV6 X | 1\n");
  CHECK(brief("     GPU0 GPU1\nGPU0  X   NV6  <-- talks to 1\nGPU1 NV6   X\n") == "GPU0: X NV6\nGPU1: NV6 X\n");
  CHECK(brief("     GPU0 CPU Affinity NUMA Affinity GPU NUMA ID\nGPU0  X   0-71  0,5-11  4\n") ==
        "GPU0: X | 0-71 | 0 | gpu 4\n");
  CHECK(brief("     GPU0 CPU Affinity NUMA Affinity\nGPU0  X   N/A  N/A\n") == "GPU0: X\n");
}

TEST_CASE("adapters take their names from the legend", "[import]") {
  const std::string expected = "GPU0: X PIX\nNIC0: PIX X = mlx5_3\n";
  CHECK(brief("\tGPU0\tNIC0\nGPU0\t X \tPIX\nNIC0\tPIX\t X \n\nNIC Legend:\n\n  NIC0: mlx5_3\n") == expected);
  CHECK(brief("     GPU0 NIC0\nGPU0  X   PIX\nNIC0 PIX   X\n\n\tNIC0: mlx5_3\n") == expected);
}

TEST_CASE("odd matrices are read with a warning", "[import]") {
  CHECK(brief("     GPU0 GPU1\nGPU0  X   PIX\nGPU1 SYS   X\n") ==
        "GPU0: X PIX\nGPU1: PIX X\n"
        "m.txt:3:1: warning: the rows of GPU0 and GPU1 differ on their path; the first is used\n"
        "    3 | GPU1 SYS   X\n"
        "      | ^\n");
  CHECK(brief("     GPU0\nGPU0  X\n     GPU0\nGPU0  X\n") ==
        "GPU0: X\nm.txt:3:1: warning: a second matrix is ignored\n    3 |      GPU0\n      | ^\n");
}

TEST_CASE("what cannot be read is refused with its place", "[import]") {
  CHECK(brief("Sun Jan  1\n| NVIDIA-SMI 550 |\n") ==
        "m.txt: error: no matrix: no line names the columns (GPU0 GPU1 ...)\n"
        "hint: paste the whole output of `nvidia-smi topo -m`, header line included\n");
  CHECK(brief("     GPU0 GPU1\nGPU0  X   PIX\nGPU1 PIX\n") ==
        "m.txt:3:9: error: the row of GPU1 ends after 1 of 2 columns\n"
        "    3 | GPU1 PIX\n"
        "      |         ^\n"
        "hint: is the text cut off?\n");
  CHECK(brief("     GPU0 GPU1 GPU2\nGPU0  X   PIX  PIX\nGPU1 PIX   X  QPI\nGPU2 PIX  PIX   X\n") ==
        "m.txt:3:15: error: \"QPI\" is no path type of GPU1 and GPU2\n"
        "    3 | GPU1 PIX   X  QPI\n"
        "      |               ^\n"
        "hint: is the text cut off?\n");
  CHECK(brief("     GPU0 GPU1 GPU2\nGPU0  X   PIX  SYS\n") ==
        "m.txt:1:11: error: no row says how GPU1 and GPU2 are connected\n"
        "    1 |      GPU0 GPU1 GPU2\n"
        "      |           ^\n"
        "hint: rows are missing; paste the whole output\n");
  CHECK(brief("     GPU0 GPU0\nGPU0  X   PIX\n").find("error: a second column GPU0") != std::string::npos);
  CHECK(brief("     GPU0\nGPU0  X\nGPU0  X\n").find("m.txt:3:1: error: a second row GPU0") != std::string::npos);
}
