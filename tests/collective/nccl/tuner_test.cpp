// N40-N49: planned latencies, bandwidths and times, and the choices that follow from them.
#include "catch.hpp"

#include <algorithm>
#include <cmath>

#include "cases.hpp"

using namespace takt;
using namespace takt::test;

namespace {

/// Within 1 %, or what printing to three decimals hides.
bool close(double found, double expected) {
  return std::abs(found - expected) <= std::max(0.01 * std::abs(expected), 0.0006);
}

}  // namespace

TEST_CASE("Latencies and bandwidths of the tuner are NCCL's", "[nccl]") {
  ColumnCounts counts;
  for (const Row& row : expected_rows("LATBW")) {
    const NcclPlan& plan = plan_of_case(row[1]);
    const nccl::PlannedRate& rate =
        plan.table.at(collective_kind(row[2]), algorithm_named(row[3]), protocol_named(row[4]));
    const std::string name = row[1] + " " + row[2] + " " + row[3] + " " + row[4];
    counts.add("latency", name, close(rate.latency_us, number_after(row[5], "lat=")));
    counts.add("bandwidth", name, close(rate.gigabytes_per_second, number_after(row[6], "bw=")));
  }
  INFO(counts.report());
  CHECK(counts.all_match());
}

TEST_CASE("What the tuner does not list is not available", "[nccl]") {
  // The expectations list every available pair, so their number is that of the table.
  for (const Row& graph : expected_rows("GRAPH")) {
    const NcclPlan& plan = plan_of_case(graph[1]);
    std::size_t listed = 0;
    for (const Row& row : expected_rows("LATBW")) {
      if (row[1] == graph[1]) ++listed;
    }
    std::size_t available = 0;
    for (const CollectiveKind kind :
         {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
      for (std::size_t a = 0; a < nccl_algorithms; ++a) {
        for (std::size_t p = 0; p < nccl_protocols; ++p) {
          const auto& rate = plan.table.at(kind, static_cast<NcclAlgorithm>(a), static_cast<NcclProtocol>(p));
          if (rate.available()) ++available;
        }
      }
    }
    CAPTURE(graph[1]);
    CHECK(available == listed);
  }
}

TEST_CASE("Algorithm, protocol, CTAs, threads and planned time of calls are NCCL's", "[nccl]") {
  ColumnCounts counts;
  for (const Row& row : expected_rows("TIME")) {
    const NcclPlan& plan = plan_of_case(row[1]);
    const CollectiveCall call{collective_kind(row[2]), Bytes(std::stoll(row[3]))};
    const NcclChoice choice = choose(plan, call);
    const std::string name = row[1] + " " + row[2] + " " + row[3];
    counts.add("algorithm", name, to_text(choice.algorithm) == row[4]);
    counts.add("protocol", name, to_text(choice.protocol) == row[5]);
    counts.add("planned time", name, close(choice.planned_time_us, std::stod(row[6])));
    counts.add("CTAs", name, static_cast<double>(choice.channels) == number_after(row[7], "nc="));
    counts.add("threads", name, static_cast<double>(choice.threads) == number_after(row[8], "nt="));
  }
  INFO(counts.report());
  CHECK(counts.all_match());
}
