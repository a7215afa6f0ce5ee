// Speed of the flow engine alone, on the flow cases of the oracle.
#include "engine/simulate.hpp"
#include "oracle/flow_case.hpp"
#include "support/source_dir.hpp"

#include <benchmark/benchmark.h>

namespace {

void play_flows(benchmark::State& state, const char* name) {
  const auto flow_case = takt::oracle::read_flow_case(takt::test::source_dir() + "/tests/oracle/flows/" + name);
  for (auto _ : state) {
    auto timeline = takt::simulate(flow_case.plan, flow_case.resources);
    benchmark::DoNotOptimize(timeline);
  }
  state.counters["flows/s"] =
      benchmark::Counter(static_cast<double>(flow_case.plan.ranks.size()) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(play_flows, L1_fattree64_5000, "L1_fattree64_5000.csv")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(play_flows, L3_fattree64_1000, "L3_fattree64_1000.csv")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(play_flows, c16_pcie_random200_lat, "c16_pcie_random200_lat.csv")->Unit(benchmark::kMillisecond);

}  // namespace
