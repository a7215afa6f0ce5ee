// Speed of whole steps: the reference step, FSDP80, and a thousand ranks. DESIGN section 8 has the targets.
#include "pipeline.hpp"
#include "report/report.hpp"
#include "support/source_dir.hpp"

#include <benchmark/benchmark.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace {

using namespace takt;

SourceText scenario_text(const std::string& name) {
  return read_text_file(takt::test::source_dir() + "/scenarios/" + name + ".toml").value();
}

Overrides one_micro_batch() {
  return {{"batch.gradient_accumulation", "1"}};
}

PreparedRun prepared(const SourceText& text, const Overrides& overrides) {
  Library library(search_path(nullptr));
  Result<PreparedRun> run = prepare(text, overrides, library);
  if (!run) throw std::runtime_error(render(run.diagnostics()));
  return std::move(*run);
}

/// The engine alone: the plan is ready.
void simulate_plan(benchmark::State& state, const PreparedRun& run, const EngineOptions& options) {
  std::size_t ops = 0;
  for (const RankBinding& rank : run.built.plan.ranks) ops += run.built.plan.programs[index(rank.role)].ops.size();
  for (auto _ : state) {
    auto timeline = simulate(run.built.plan, run.topology->resources(), options);
    benchmark::DoNotOptimize(timeline);
  }
  state.counters["ops"] = static_cast<double>(ops);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["process_peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1024.0;
}

void simulate_step(benchmark::State& state, const char* name, const Overrides& overrides) {
  simulate_plan(state, prepared(scenario_text(name), overrides), {});
}

/// Every rank played, also where all are equal.
EngineOptions unfolded() {
  EngineOptions options;
  options.fold = false;
  return options;
}

void simulate_unfolded(benchmark::State& state, const char* name, const Overrides& overrides) {
  simulate_plan(state, prepared(scenario_text(name), overrides), unfolded());
}

/// FSDP80's star with any number of cards, as a server file that is removed again.
class StarFile {
 public:
  explicit StarFile(std::int64_t cards)
      : path_(std::filesystem::temp_directory_path() / fmt::format("takt-bench-star-{}-{}.toml", cards, ::getpid())) {
    std::ofstream file(path_);
    file << "title = \"star\"\nsource = \"FSDP80\"\nconfidence = \"exact\"\nswitch = [{ name = \"sw0\" }]\nlink = [\n";
    for (std::int64_t card = 0; card < cards; ++card) {
      file << fmt::format("{{ from = \"sw0\", to = \"gpu{}\", type = \"pcie5-x16\", nominal = \"429.4967296 GB/s\", "
                          "effective = \"429.4967296 GB/s\", latency = \"936.25 ns\" }},\n", card);
    }
    file << fmt::format("]\n[cards]\ncount = {}\ncard = \"h200-nvl\"\n", cards);
  }
  ~StarFile() { std::filesystem::remove(path_); }
  StarFile(const StarFile&) = delete;
  StarFile& operator=(const StarFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

void simulate_star(benchmark::State& state, const char* fidelity) {
  const StarFile star(state.range(0));
  simulate_plan(state, prepared(scenario_text("fsdp80-star-8"), {{"hardware.topology", star.path()},
                                                                 {"collectives.fidelity", fidelity}}), unfolded());
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

/// The same where equal ranks are played once.
void simulate_star_folded(benchmark::State& state) {
  const StarFile star(state.range(0));
  simulate_plan(state, prepared(scenario_text("fsdp80-star-8"), {{"hardware.topology", star.path()}}), {});
}

const char* const reference = "llama-3.3-70b-lora-8x-rtx-pro-6000";
const Overrides hybrid_128_ranks = {{"hardware.topology", "16x-8x-h200-sxm-hgx-400g"},
                                    {"parallel.sharding", "hybrid"},
                                    {"batch.gradient_accumulation", "1"}};
const Overrides thousand_ranks = {{"hardware.topology", "128x-8x-rtx-pro-6000-400g"},
                                  {"batch.gradient_accumulation", "1"}};

BENCHMARK_CAPTURE(simulate_step, reference_step, reference, one_micro_batch())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_unfolded, reference_step, reference, one_micro_batch())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prepare_point, reference_step, reference, one_micro_batch())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(whole_point, reference_step, reference, one_micro_batch())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_star, fluid, "fluid")->Arg(8)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_star, chunked, "chunked")->Arg(8)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK(simulate_star_folded)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_step, hybrid_128_ranks, reference, hybrid_128_ranks)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_unfolded, fsdp80_tree_8, "fsdp80-tree-8", Overrides{})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(whole_point, hybrid_1024_ranks_8b, "llama-3.1-8b-full-hybrid-2x-8x-rtx-pro-6000", thousand_ranks)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_step, hybrid_1024_ranks_8b, "llama-3.1-8b-full-hybrid-2x-8x-rtx-pro-6000", thousand_ranks)
    ->Unit(benchmark::kMillisecond);

}  // namespace
