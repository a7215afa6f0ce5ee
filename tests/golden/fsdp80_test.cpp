// FSDP80 (models/fsdp80.toml): a step of 80 sharded layers that SimGrid 3.32 solved. Every digit that it printed.
//
// A ring collective of N cards takes (N - 1) (P / N / B + latency of a path): on the star 7 (1,712,324,608 / 8 /
// 429.4967296e9 + 2 x 936.25 ns) = 3.50157 ms, on the tree, whose uplinks carry one edge each way, 7 (P / 8 / 64e9 + 5
// x 0.5 us) = 23.4282 ms.
#include "catch.hpp"
#include "pipeline.hpp"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

using namespace takt;

namespace {

namespace fs = std::filesystem;

StepMetrics metrics_of(const std::string& scenario, const Overrides& overrides) {
  const std::string file = std::string(TAKT_SOURCE_DIR) + "/scenarios/" + scenario + ".toml";
  const Result<SourceText> source = read_text_file(file);
  REQUIRE(source.has_value());
  Library library(search_path(nullptr));
  const Result<FinishedRun> finished = run(*source, overrides, library, {});
  INFO(render(finished.diagnostics()));
  REQUIRE(finished.has_value());
  return finished->result.metrics;
}

/// The star of FSDP80 with `cards` ports, as a server file in a temporary folder.
std::string star_file(int cards) {
  const fs::path file = fs::temp_directory_path() / fmt::format("takt-fsdp80-star-{}.toml", cards);
  std::ofstream stream(file);
  stream << "title = \"star\"\nsource = \"test\"\nconfidence = \"exact\"\nswitch = [{ name = \"sw0\" }]\nlink = [\n";
  for (int card = 0; card < cards; ++card) {
    stream << fmt::format(
        "  {{ from = \"sw0\", to = \"gpu{}\", type = \"pcie5-x16\", nominal = \"429.4967296 GB/s\", "
        "effective = \"429.4967296 GB/s\", latency = \"936.25 ns\" }},\n",
        card);
  }
  stream << fmt::format("]\n[cards]\ncount = {}\ncard = \"h200-nvl\"\n", cards);
  return file.string();
}

std::string nanosecond_digits(Duration time) {
  return fmt::format("{:.9f}", to_seconds(time));
}

}  // namespace

TEST_CASE("FSDP80 on the star and on the PCIe tree, eight cards", "[golden][oracle]") {
  const StepMetrics star = metrics_of("fsdp80-star-8", {});
  REQUIRE(nanosecond_digits(star.step_time) == "4.207003144");
  REQUIRE(nanosecond_digits(star.communication.busy) == "0.840377245");
  const StepMetrics tree = metrics_of("fsdp80-tree-8", {});
  REQUIRE(nanosecond_digits(tree.step_time) == "5.645908744");
  REQUIRE(nanosecond_digits(tree.communication.busy) == "5.622765120");
}

TEST_CASE("FSDP80 on stars of 64 and 256 cards", "[golden][oracle]") {
  const StepMetrics of_64 = metrics_of("fsdp80-star-8", {{"hardware.topology", star_file(64)}});
  REQUIRE(nanosecond_digits(of_64.step_time) == "4.208084980");
  REQUIRE(nanosecond_digits(of_64.communication.busy) == "0.970197576");
  const StepMetrics of_256 = metrics_of("fsdp80-star-8", {{"hardware.topology", star_file(256)}});
  REQUIRE(nanosecond_digits(of_256.step_time) == "4.208897461");
  REQUIRE(nanosecond_digits(of_256.communication.busy) == "1.067695297");
}
