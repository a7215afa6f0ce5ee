// FSDP80 (models/fsdp80.toml): a step of 80 sharded layers that SimGrid 3.32 solved, from scenario files to the
// metrics.
//
// A ring collective of 8 cards takes 7 (P / 8 / B + latency of a path), P = 1,712,324,608 bytes: on the star
// 7 (P / 8 / 429.4967296e9 + 2 x 936.25 ns) = 3.50157 ms, on the tree, whose uplinks carry one edge each way,
// 7 (P / 8 / 64e9 + 5 x 0.5 us) = 23.4282 ms. There are 240 of them. tests/oracle solves 64 and 256 cards too.
#include "catch.hpp"
#include "support/scenarios.hpp"

#include <fmt/format.h>

using namespace takt;

namespace {

std::string printed(Duration time) {
  return fmt::format("{:.9f}", to_seconds(time));
}

}  // namespace

TEST_CASE("FSDP80 on the star and on the PCIe tree: every digit that SimGrid printed", "[scenarios]") {
  const StepMetrics star = test::finished("fsdp80-star-8").result.metrics;
  REQUIRE(printed(star.step_time) == "4.207003144");
  REQUIRE(printed(star.communication.busy) == "0.840377245");
  const StepMetrics tree = test::finished("fsdp80-tree-8").result.metrics;
  REQUIRE(printed(tree.step_time) == "5.645908744");
  REQUIRE(printed(tree.communication.busy) == "5.622765120");
}

TEST_CASE("FSDP80's critical path on the tree is the cards' links, but for the first and last layer", "[scenarios]") {
  const StepMetrics tree = test::finished("fsdp80-tree-8").result.metrics;
  Duration compute{}, rest{};
  for (const BlameEntry& entry : tree.blame) (entry.resource == "compute" ? compute : rest) += entry.time;
  // The path is 240 collectives but for two stretches of a layer's backward, 35 ms, in each of which one collective of
  // 23.4282 ms runs beside it: 5.645908744 = 238 x 23.428188 + 2 x 35 ms.
  REQUIRE(to_seconds(compute) == Approx(0.070).margin(1e-9));
  REQUIRE(compute + rest == tree.step_time);
}
