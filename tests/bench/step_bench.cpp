// Speed of whole steps: the reference step, FSDP80, and a thousand ranks. DESIGN section 8 has the targets.
#include "pipeline.hpp"
#include "report/report.hpp"
#include "support/source_dir.hpp"

#include <benchmark/benchmark.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <memory>
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

/// A data file that is removed again.
class WrittenFile {
 public:
  WrittenFile(const std::string& name, const std::string& text)
      : path_(std::filesystem::temp_directory_path() / fmt::format("takt-bench-{}-{}.toml", name, ::getpid())) {
    std::ofstream(path_) << text;
  }
  ~WrittenFile() { std::filesystem::remove(path_); }
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// FSDP80's star with any number of cards.
std::string star(std::int64_t cards) {
  std::string text = "title = \"star\"\nsource = \"FSDP80\"\nconfidence = \"exact\"\n"
                     "switch = [{ name = \"sw0\" }]\nlink = [\n";
  for (std::int64_t card = 0; card < cards; ++card) {
    text += fmt::format("{{ from = \"sw0\", to = \"gpu{}\", type = \"pcie5-x16\", nominal = \"429.4967296 GB/s\", "
                        "effective = \"429.4967296 GB/s\", latency = \"936.25 ns\" }},\n", card);
  }
  return text + fmt::format("]\n[cards]\ncount = {}\ncard = \"h200-nvl\"\n", cards);
}

void simulate_star(benchmark::State& state, const char* fidelity) {
  const WrittenFile machine("star", star(state.range(0)));
  simulate_plan(state, prepared(scenario_text("fsdp80-star-8"), {{"hardware.topology", machine.path()},
                                                                 {"collectives.fidelity", fidelity}}), unfolded());
}

/// One run of 1,024 ranks of different speed, every message of every ring: seven layers, 21 collectives.
void simulate_messages(benchmark::State& state) {
  const WrittenFile machine("star", star(1024));
  const WrittenFile model("fsdp7", "name = \"FSDP7\"\nkind = \"synthetic\"\nlayers = 7\nlayer_bytes = \"1712324608 B\"\n"
                                   "forward = \"17.5 ms\"\nbackward = \"35 ms\"\nsource = \"seven layers of FSDP80\"\n");
  const std::unique_ptr<Executor> executor = make_tbb_executor(static_cast<std::size_t>(state.range(0)));
  EngineOptions options = unfolded();
  if (state.range(0) > 1) options.executor = executor.get();
  simulate_plan(state, prepared(scenario_text("fsdp80-star-8"), {{"hardware.topology", machine.path()},
                                                                 {"model.name", model.path()},
                                                                 {"assumptions.jitter", "0.05"},
                                                                 {"collectives.fidelity", "chunked"}}), options);
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
  const WrittenFile machine("star", star(state.range(0)));
  simulate_plan(state, prepared(scenario_text("fsdp80-star-8"), {{"hardware.topology", machine.path()}}), {});
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
BENCHMARK(simulate_messages)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(simulate_star_folded)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_step, hybrid_128_ranks, reference, hybrid_128_ranks)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_unfolded, fsdp80_tree_8, "fsdp80-tree-8", Overrides{})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(whole_point, hybrid_1024_ranks_8b, "llama-3.1-8b-full-hybrid-2x-8x-rtx-pro-6000", thousand_ranks)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_step, hybrid_1024_ranks_8b, "llama-3.1-8b-full-hybrid-2x-8x-rtx-pro-6000", thousand_ranks)
    ->Unit(benchmark::kMillisecond);

}  // namespace
