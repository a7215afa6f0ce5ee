// States on NVMe drives: what a made-up server with two of them makes of a full fine-tune of 8B.
#include "catch.hpp"
#include "support/scenarios.hpp"

using namespace takt;

namespace {

constexpr const char* scenario = "llama-3.1-8b-full-zero3-offload-2x-h200-nvl";
constexpr double parameters = 8'030'261'248.0;

RunResult run(const std::string& place, Overrides more = {}) {
  Overrides overrides{{"hardware.topology", test::source_dir() + "/tests/scenarios/data/2x-h200-nvl-nvme.toml"},
                      {"parallel.offload_optimizer", place},
                      {"batch.gradient_accumulation", "1"}};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return test::finished(scenario, overrides).result;
}

double optimizer_seconds(const RunResult& result) {
  return to_seconds(result.metrics.breakdown.optimizer);
}

}  // namespace

TEST_CASE("states on NVMe are read and written by all drives together, beside the CPU's update", "[scenarios][offload]") {
  // 12 bytes a parameter each way over two drives of 12 GB/s that the two ranks share.
  const double drives = 2.0 * 12.0 * parameters / 24e9;
  const double more = optimizer_seconds(run("nvme")) - optimizer_seconds(run("cpu"));
  CHECK(more == Approx(drives).epsilon(0.02));
}

TEST_CASE("on NVMe the states leave host memory, the gradients stay", "[scenarios][offload]") {
  const HostMemory on_nvme = run("nvme").host_memory;
  CHECK(static_cast<double>(on_nvme.nvme.count()) == Approx(12.0 * parameters).epsilon(1e-3));
  CHECK(static_cast<double>(on_nvme.needed.count()) == Approx(4.0 * parameters).epsilon(1e-3));
}

TEST_CASE("parameters on NVMe wait for the drives at each gather", "[scenarios][offload]") {
  const Overrides on_nvme{{"parallel.offload_params", "nvme"}}, in_memory{{"parallel.offload_params", "cpu"}};
  const RunResult slow = run("cpu", on_nvme), fast = run("cpu", in_memory);
  CHECK(slow.metrics.step_time > fast.metrics.step_time);
  // Two gathers of 2 bytes a parameter at 24 GB/s at least.
  CHECK(to_seconds(slow.metrics.step_time) > 2.0 * 2.0 * parameters / 24e9);
}
