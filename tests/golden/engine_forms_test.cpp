// Each scenario in other forms of the engine: kernel by kernel instead of segments, and without pruning.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "catch.hpp"
#include "pipeline.hpp"

using namespace takt;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::path(TAKT_SOURCE_DIR) / "scenarios")) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// One micro-batch says the same as eight, and faster.
Overrides short_step() { return {{"batch.gradient_accumulation", "1"}}; }

PreparedRun prepared(const std::string& file, Overrides overrides, Library& library) {
  auto result = prepare(read_text_file(file).value(), overrides, library);
  INFO(render(result.diagnostics()));
  REQUIRE(result.has_value());
  return *std::move(result);
}

double step_seconds(const PreparedRun& run, const EngineOptions& options = {}) {
  const auto timeline = simulate(run.built.plan, run.topology.resources(), options);
  REQUIRE(timeline.has_value());
  return to_seconds(timeline->end);
}

}  // namespace

TEST_CASE("segments are within 0.5 % of kernel by kernel on every scenario", "[golden]") {
  Library library(search_path(nullptr));
  for (const std::string& file : scenario_files()) {
    INFO(file);
    Overrides by_kernel = short_step();
    by_kernel.push_back({"assumptions.kernel_by_kernel", "true"});
    const double segments = step_seconds(prepared(file, short_step(), library));
    const double kernels = step_seconds(prepared(file, by_kernel, library));
    CAPTURE(segments, kernels);
    CHECK(std::abs(segments - kernels) <= 0.005 * kernels);
  }
}

TEST_CASE("pruning changes no scenario", "[golden]") {
  Library library(search_path(nullptr));
  for (const std::string& file : scenario_files()) {
    INFO(file);
    const PreparedRun run = prepared(file, short_step(), library);
    EngineOptions unpruned;
    unpruned.prune = false;
    CHECK(step_seconds(run) == Approx(step_seconds(run, unpruned)).epsilon(1e-10));
  }
}

TEST_CASE("the same on two threads", "[golden]") {
  Library library(search_path(nullptr));
  const auto executor = make_tbb_executor(2);
  const auto file = (fs::path(TAKT_SOURCE_DIR) / "scenarios/llama-3.1-8b-full-hybrid-2x-8x-rtx-pro-6000.toml").string();
  const PreparedRun run = prepared(file, short_step(), library);
  EngineOptions threaded;
  threaded.executor = executor.get();
  CHECK(step_seconds(run) == step_seconds(run, threaded));
}
