// Speed of whole steps: the reference step, FSDP80, and a thousand ranks. DESIGN section 8 has the targets.
#include "pipeline.hpp"
#include "report/report.hpp"
#include "support/source_dir.hpp"

#include <benchmark/benchmark.h>
#include <stdexcept>
#include <string>
#include <sys/resource.h>

namespace {

using namespace takt;

SourceText scenario_text(const std::string& name) {
  return read_text_file(takt::test::source_dir() + "/scenarios/" + name + ".toml").value();
}

Overrides one_micro_batch() {
  return {{"batch.gradient_accumulation", "1"}};
}

/// The engine alone: the plan is ready.
void simulate_step(benchmark::State& state, const char* name, const Overrides& overrides) {
  Library library(search_path(nullptr));
  auto prepared = prepare(scenario_text(name), overrides, library);
  if (!prepared) throw std::runtime_error(render(prepared.diagnostics()));
  std::size_t ops = 0;
  for (const RankBinding& rank : prepared->built.plan.ranks) {
    ops += prepared->built.plan.programs[index(rank.role)].ops.size();
  }
  for (auto _ : state) {
    auto timeline = simulate(prepared->built.plan, prepared->topology->resources());
    benchmark::DoNotOptimize(timeline);
  }
  state.counters["ops"] = static_cast<double>(ops);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["process_peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1024.0;
}

/// A point of a sweep: parse, build, simulate, measure, write JSON; data files are read already.
void whole_point(benchmark::State& state, const char* name, const Overrides& overrides) {
  Library library(search_path(nullptr));
  const SourceText text = scenario_text(name);
  for (auto _ : state) {
    auto finished = run(text, overrides, library, {});
    if (!finished) throw std::runtime_error(render(finished.diagnostics()));
    auto json = results_json(std::span(&finished->result, 1));
    benchmark::DoNotOptimize(json);
  }
}

/// What precedes the engine in a point.
void prepare_point(benchmark::State& state, const char* name, const Overrides& overrides) {
  Library library(search_path(nullptr));
  const SourceText text = scenario_text(name);
  for (auto _ : state) {
    auto prepared = prepare(text, overrides, library);
    benchmark::DoNotOptimize(prepared);
  }
}

const char* const reference = "llama-3.3-70b-lora-8x-rtx-pro-6000";
const Overrides thousand_ranks = {{"hardware.topology", "128x-8x-rtx-pro-6000-400g"},
                                  {"batch.gradient_accumulation", "1"}};

BENCHMARK_CAPTURE(simulate_step, reference_step, reference, one_micro_batch())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prepare_point, reference_step, reference, one_micro_batch())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(whole_point, reference_step, reference, one_micro_batch())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_step, fsdp80_star_8, "fsdp80-star-8", Overrides{})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_step, fsdp80_tree_8, "fsdp80-tree-8", Overrides{})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(whole_point, hybrid_1024_ranks_8b, "llama-3.1-8b-full-hybrid-2x-8x-rtx-pro-6000", thousand_ranks)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_step, hybrid_1024_ranks_8b, "llama-3.1-8b-full-hybrid-2x-8x-rtx-pro-6000", thousand_ranks)
    ->Unit(benchmark::kMillisecond);

}  // namespace
