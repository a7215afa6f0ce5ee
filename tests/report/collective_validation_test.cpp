// Reading measured collectives, and scores over tables.
#include "report/collective_validation.hpp"

#include "catch.hpp"
#include "report/collective_residuals.hpp"
#include "report/nccl_tests.hpp"

using namespace takt;

namespace {

CollectiveOutcome outcome(const std::string& table, std::int64_t bytes, double measured, double predicted) {
  CollectiveOutcome one;
  one.measurement = {table, {CollectiveKind::all_reduce, Bytes(bytes)}, 8, "NVSwitch", "machine", measured};
  one.predicted_us = predicted;
  return one;
}

}  // namespace

TEST_CASE("a score is the median over tables of each table's median", "[report]") {
  // Table a: 10 and 30 % -> 20; table b: 5 % -> 5; table c: 50 %, below 1 MiB. All: median of 5, 20, 50; large: of 5, 20.
  std::vector<CollectiveOutcome> outcomes{outcome("a", 1 << 20, 100, 110), outcome("a", 1 << 21, 100, 70),
                                          outcome("b", 1 << 22, 100, 105), outcome("c", 1 << 10, 100, 150)};
  CHECK(score(outcomes, {}).median == Approx(20));
  CHECK(score(outcomes, {}).ninetieth == Approx(44));  // four fifths of the way from 20 to 50
  CHECK(score(outcomes, {Prediction::recorded, Sizes::mebibyte_and_more}).median == Approx(12.5));
  outcomes.front().inferred = outcomes[1].inferred = true;
  CHECK(score(outcomes, {Prediction::recorded, Sizes::all, Tables::not_inferred}).tables == 2);
  CHECK(score(outcomes, {Prediction::recorded, Sizes::all, Tables::all, "host staged"}).tables == 0);
  CHECK(broken_bounds(outcomes).size() == 2);  // over all sizes and over large ones; classes without rows score 0
}

TEST_CASE("intervals of collectives come from other machines' rows of the same way", "[report]") {
  // Two machines over host memory, 20 rows each, measured / predicted 0.91 to 1.10 in steps of 0.01; one over bridges.
  std::vector<CollectiveOutcome> outcomes;
  for (const char* machine : {"one", "two"}) {
    for (int i = 0; i < 20; ++i) {
      outcomes.push_back(outcome("a", 1 << 20, 91.0 + i, 100.0));
      outcomes.back().left_out_us = 100.0;
      outcomes.back().measurement.machine = machine;
      outcomes.back().way = CollectiveWay::host;
    }
  }
  outcomes.push_back(outcome("b", 1 << 20, 150.0, 100.0));
  outcomes.back().left_out_us = 100.0;
  outcomes.back().way = CollectiveWay::bridge;
  const std::vector<CollectiveResiduals> residuals = residuals_by_way(outcomes);
  REQUIRE(residuals.size() == 2);
  CHECK(residuals[0].way == CollectiveWay::bridge);
  CHECK(residuals[0].held == 0.0);  // no other machine tells
  CHECK(residuals[1].rows == 40);
  CHECK(residuals[1].machines == 2);
  // Each value twice: the quantiles at 1.95 of 39 and at 37.05.
  CHECK(residuals[1].parts.low == Approx(0.91 + 0.0095));
  CHECK(residuals[1].parts.high == Approx(1.09 + 0.0005).epsilon(1e-3));
  CHECK(residuals[1].held == Approx(0.9));  // of 20 values the outermost two lie without
  CHECK(coverage_of(outcomes) == Approx(36.0 / 41.0));
  const std::vector<std::string> left = left_collective_intervals(outcomes);
  REQUIRE(left.size() == 2);  // of bridges and of host memory, recorded otherwise
  CHECK(left.front().starts_with("collectives over NVLink bridges: 1.50 to 1.50 of the prediction, recorded "));
  for (int i = 20; i < 40; ++i) outcomes[static_cast<std::size_t>(i)].measurement.measured_us *= 3.0;
  CHECK(left_collective_intervals(outcomes).front() ==
        "0.0 % of left-out collectives lie within their interval, asked for 85 to 95 %");
}

TEST_CASE("measured collectives are read, wrong rows refused with their line", "[report]") {
  const std::string header = "table,op,ranks,class,machine,bytes,measured_us\n";
  const auto read = read_collective_cases({"rows.csv", header + "t,all_gather,8,NVSwitch,m,1024,9.5\n"}).value();
  REQUIRE(read.size() == 1);
  CHECK(read.front().call.kind == CollectiveKind::all_gather);
  CHECK(read.front().measured_us == 9.5);
  for (const char* row : {"t,all_gather,8,NVSwitch,m,1024\n", "t,all_sum,8,NVSwitch,m,1024,9.5\n",
                          "t,all_gather,8,NVSwitch,m,1k,9.5\n", "t,all_gather,8,NVSwitch,m,1024,0\n"}) {
    const auto refused = read_collective_cases({"rows.csv", header + row});
    REQUIRE_FALSE(refused);
    CHECK(refused.diagnostics().front().place.line == 2);
  }
  CHECK_FALSE(read_collective_setups({"setups.csv", "table\n"}));
}

TEST_CASE("logs of nccl-tests are read with and without roots", "[report]") {
  const auto log = read_nccl_tests_log({"log", "#  Rank  0 Pid 1 on h device  0 [0x18] A\n"
                                               "  1048576  262144  float  sum  -1  27.43  38.23  66.90  0  27.1  38.7  67.7  0\n"
                                               "  2097152  524288  float  sum  41.0  51.1  89.5  2e-07  40.9  51.2  89.7  N/A\n"
                                               "# Avg bus bandwidth    : 298.7\n"})
                       .value();
  CHECK(log.ranks == 1);
  REQUIRE(log.lines.size() == 2);
  CHECK(log.lines[0].time_us == 27.43);
  CHECK(log.lines[1].bytes == 2097152);
  CHECK(log.lines[1].time_us == 41.0);
  CHECK_FALSE(read_nccl_tests_log({"log", "nothing here\n"}));
}
