// Speed of the flow engine alone, on the flow cases of the oracle.
#include "engine/simulate.hpp"
#include "naive_flows.hpp"
#include "oracle/flow_case.hpp"
#include "support/source_dir.hpp"

#include <benchmark/benchmark.h>
#include <cmath>

namespace {

takt::oracle::FlowCase read_case(const char* name) {
  return takt::oracle::read_flow_case(takt::test::source_dir() + "/tests/oracle/flows/" + name);
}

void count_flows(benchmark::State& state, const takt::oracle::FlowCase& flow_case) {
  state.counters["flows/s"] =
      benchmark::Counter(static_cast<double>(flow_case.plan.ranks.size()) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

void play_flows(benchmark::State& state, const char* name) {
  const auto flow_case = read_case(name);
  for (auto _ : state) {
    auto timeline = takt::simulate(flow_case.plan, flow_case.resources);
    benchmark::DoNotOptimize(timeline);
  }
  count_flows(state, flow_case);
}

/// What the engine is compared with: every rate anew at every event. It must find the same ends.
void play_flows_naively(benchmark::State& state, const char* name) {
  const auto flow_case = read_case(name);
  std::vector<double> ends_s;
  for (auto _ : state) ends_s = takt::bench::play_naively(flow_case);
  for (std::size_t flow = 0; flow < ends_s.size(); ++flow) {
    const double expected_s = flow_case.finish_s[flow];
    if (std::abs(ends_s[flow] - expected_s) > 1e-6 * flow_case.duration_s[flow] + 1e-11 * expected_s) {
      return state.SkipWithError("the naive solution differs from the oracle");
    }
  }
  count_flows(state, flow_case);
}

BENCHMARK_CAPTURE(play_flows, L1_fattree64_5000, "L1_fattree64_5000.csv")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(play_flows_naively, L1_fattree64_5000, "L1_fattree64_5000.csv")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(play_flows, L3_fattree64_1000, "L3_fattree64_1000.csv")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(play_flows, c16_pcie_random200_lat, "c16_pcie_random200_lat.csv")->Unit(benchmark::kMillisecond);

}  // namespace
