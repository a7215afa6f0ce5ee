#include "catch.hpp"
#include "support/command.hpp"
#include "command_line.hpp"
#include "graphviz.hpp"
#include "support/source_dir.hpp"

#include <sstream>

using namespace takt;
using takt::test::Outcome;
using takt::test::takt_command;

namespace {

const std::string fixtures = takt::test::source_dir() + "/tests/topology/import/fixtures/";

}  // namespace

TEST_CASE("takt topo import prints a server file, its remarks go to standard error", "[tools]") {
  const Outcome outcome =
      takt_command({"topo", "import", fixtures + "nvidia_smi/h200nvl_4_nv6_comments.txt", "--card", "h200-nvl"});
  REQUIRE(outcome.status == ExitStatus::done);
  CHECK(outcome.out.find("{ cards = [\"gpu0\", \"gpu1\", \"gpu2\", \"gpu3\"], type = \"nvlink4-bridge\"") !=
        std::string::npos);
  CHECK(outcome.err.empty());
}

TEST_CASE("takt topo import refuses with status 1 and a place", "[tools]") {
  const std::string file = fixtures + "nvidia_smi/8gpu_pix_pxb_truncated.txt";
  const Outcome outcome = takt_command({"topo", "import", file, "--card", "l40s"});
  CHECK(outcome.status == ExitStatus::invalid);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.find(file + ":8:34: error: \"PX\" is no path type of GPU6 and GPU7") == 0);
  const Outcome nameless = takt_command({"topo", "import", fixtures + "nvidia_smi/rtx3090_2_nv4.txt"});
  CHECK(nameless.status == ExitStatus::invalid);
  CHECK(nameless.err.find("the source does not say which card gpu0, gpu1 are\nhint: say it with --card") !=
        std::string::npos);
  CHECK(takt_command({"topo", "import"}).status == ExitStatus::wrong_usage);
  CHECK(takt_command({"topo", "import", file, "--card", "h200-nv"}).err.find("did you mean \"h200-nvl\"?") !=
        std::string::npos);
}

TEST_CASE("takt topo export writes each form", "[tools]") {
  const std::string server = "4x-h200-nvl-4-way-bridge";
  CHECK(takt_command({"topo", "export", server}).out.find("graph \"" + server + "\"") == 0);
  CHECK(takt_command({"topo", "export", server, "--format", "matrix"}).out.find("GPU0\t X \tNV6\tNV6\tNV6\t") !=
        std::string::npos);
  CHECK(takt_command({"topo", "export", server, "--format", "toml"}).out.find("title = ") == 0);
}

TEST_CASE("an SVG is Graphviz' work; without it the message says so", "[tools]") {
  const Result<std::string> svg = svg_of_dot("graph { a -- b; }");
  if (svg) {
    CHECK(svg->find("<svg") != std::string::npos);
  } else {
    CHECK(render(svg.diagnostics()) ==
          "error: an SVG needs Graphviz' dot, which is not installed\n"
          "hint: install graphviz, or use --format dot\n");
  }
}

TEST_CASE("takt validate --links predicts published transfers to 5 % in the median and tells of every row", "[tools]") {
  const Outcome outcome = takt_command({"validate", "--links"});
  REQUIRE(outcome.status == ExitStatus::done);
  REQUIRE(outcome.err.empty());
  const std::string before = "compared, median error ";
  const std::size_t at = outcome.out.rfind(before);
  REQUIRE(at != std::string::npos);
  CHECK(std::stod(outcome.out.substr(at + before.size())) <= 5.0);
  CHECK(outcome.out.find("reads: limited by outstanding requests") != std::string::npos);
  // 1,438 cells of matrices and 81 contention rows were published; each is told of.
  CHECK(outcome.out.find("\n1519 published rows: ") != std::string::npos);
  CHECK(takt_command({"validate"}).status == ExitStatus::wrong_usage);
}

TEST_CASE("takt topo measure-compare holds a log against a server file, cell by cell", "[tools]") {
  const std::string log = takt::test::source_dir() + "/tests/tools/logs/gen4-2-direct.log";
  const std::string server = takt::test::source_dir() + "/validation/links/gen4-2-direct.toml";
  const Outcome outcome = takt_command({"topo", "measure-compare", log, "--topology", server});
  REQUIRE(outcome.status == ExitStatus::done);
  CHECK(outcome.out.find("one direction, peer-to-peer on: measured/predicted, GB/s\n"
                         "  from/to          0          1\n"
                         "  -----------------------------\n"
                         "        0          -  26.3/26.3\n"
                         "        1  26.3/26.3          -\n"
                         "  median error 0.1 %\n") != std::string::npos);
  CHECK(outcome.out.find("0 -> 1: measured 22.2, predicted 19.9 by the driver's copies through host memory") !=
        std::string::npos);
  CHECK(takt_command({"topo", "measure-compare", log}).status == ExitStatus::wrong_usage);
  const Outcome other = takt_command({"topo", "measure-compare", log, "--topology", "4x-h200-nvl-4-way-bridge"});
  CHECK(other.status == ExitStatus::invalid);
  CHECK(other.err.find("the log has 2 devices, 4x-h200-nvl-4-way-bridge has 4 cards") != std::string::npos);
}

TEST_CASE("takt topo show tells one route, and the narrowest split of the whole", "[tools]") {
  const std::string server = "8x-h200-nvl-two-4-way-bridges";
  CHECK(takt_command({"topo", "show", server}).out.find("bisection: 40.0 GB/s a direction, both at once, gpu0 ") !=
        std::string::npos);
  CHECK(takt_command({"topo", "show", server, "--from", "gpu0", "--to", "gpu3"}).out ==
        "gpu0 -> gpu3: NV6, directly\n"
        "  link          type             nominal  measured  latency\n"
        "  ---------------------------------------------------------\n"
        "  gpu0 -> gpu3  nvlink4-bridge  150 GB/s  133 GB/s   500 ns\n"
        "  bottleneck: gpu0 -> gpu3, 133 GB/s; latency 500 ns\n");
  CHECK(takt_command({"topo", "show", server, "--from", "gpu0"}).status == ExitStatus::wrong_usage);
  const Outcome unknown = takt_command({"topo", "show", server, "--from", "gpu0", "--to", "gpu33"});
  CHECK(unknown.status == ExitStatus::invalid);
  CHECK(unknown.err.find("there is no device 'gpu33'") != std::string::npos);
}
