// FSDP with shards and optimizer in host memory (semantics F60, S14, S18, O5).
#include "catch.hpp"
#include "plan/binding.hpp"
#include "plan/cpu_optimizer.hpp"
#include "toy.hpp"

#include <algorithm>

using namespace takt;
using toy::find;
using toy::waits_for;

namespace {

constexpr std::int64_t ranks = 2;

Scenario offloaded(Strategy strategy, std::int64_t micro_steps = 1) {
  Scenario scenario;
  scenario.parallel.strategy = strategy;
  scenario.parallel.offload_params = Offload::cpu;
  scenario.batch.gradient_accumulation = micro_steps;
  return scenario;
}

Program written(const Workload& workload, const Scenario& scenario) {
  const KernelPricer pricer = toy::pricer();
  const StepInput input{scenario, workload, pricer, ranks, 1};
  return (scenario.parallel.strategy == Strategy::fsdp1 ? write_fsdp1_step(input) : write_fsdp2_step(input)).program;
}

/// Bytes of the measured copies with a label; all of them on `path`.
std::int64_t copied(const Program& program, const std::string& text, std::uint32_t path) {
  std::int64_t bytes = 0;
  for (const std::size_t i : find(program, text)) {
    if (i < program.first_measured) continue;
    const auto* copy = std::get_if<Copy>(&program.ops[i].work);
    REQUIRE(copy);
    CHECK(copy->path == path);
    bytes += copy->bytes.count();
  }
  return bytes;
}

std::int64_t measured(const Program& program, const std::string& text) {
  const std::vector<std::size_t> all = find(program, text);
  return std::count_if(all.begin(), all.end(), [&](std::size_t i) { return i >= program.first_measured; });
}

std::int64_t elements_of(const Workload& workload) {
  std::int64_t elements = 0;
  for (const std::uint32_t k : workload.blocks) {
    for (const Parameter& parameter : workload.kinds[k].parameters) elements += parameter.elements();
  }
  return elements;
}

}  // namespace

TEST_CASE("F60, S18: shards cross PCIe in master format before each gather", "[plan][offload]") {
  const Workload workload = toy::transformer(3);
  for (const Strategy strategy : {Strategy::fsdp1, Strategy::fsdp2}) {
    const Program program = written(workload, offloaded(strategy));
    CAPTURE(strategy == Strategy::fsdp1);
    CHECK(measured(program, "parameters to card") == measured(program, "all-gather"));
    // A layer of 256 elements is gathered in forward and in backward, in shards of 4 bytes an element.
    CHECK(copied(program, "parameters to card", host_to_device_path) >= 2 * 3 * 256 * 4 / ranks);
  }
}

TEST_CASE("F60, S18: reduced gradients go to host memory, and the CPU waits for them", "[plan][offload]") {
  const Workload workload = toy::transformer(3);
  for (const Strategy strategy : {Strategy::fsdp1, Strategy::fsdp2}) {
    const Program program = written(workload, offloaded(strategy));
    CAPTURE(strategy == Strategy::fsdp1);
    CHECK(measured(program, "gradients to host") == measured(program, "reduce-scatter"));
    const std::int64_t bytes = copied(program, "gradients to host", device_to_host_path);
    CHECK(bytes >= elements_of(workload) * 4 / ranks);
    const std::size_t last = find(program, "gradients to host").back();
    const bool waited = std::any_of(program.ops.begin(), program.ops.end(), [&](const Op& op) {
      const auto* wait = std::get_if<HostWait>(&op.work);
      return wait && index(wait->op) == last;
    });
    CHECK(waited);
  }
}

TEST_CASE("O5: PyTorch's optimizer on the CPU takes several times DeepSpeed's stream", "[plan][offload]") {
  const Workload workload = toy::transformer(3);
  Scenario scenario = offloaded(Strategy::fsdp2);
  scenario.finetune.gradient_clipping = false;
  const std::int64_t five = copied(written(workload, scenario), "optimizer on CPU", cpu_memory_path);
  scenario.assumptions.torch_cpu_adam = 1.0;
  const std::int64_t one = copied(written(workload, scenario), "optimizer on CPU", cpu_memory_path);
  CHECK(one >= 28 * elements_of(workload) / ranks);
  CHECK(five == 5 * one);
  CHECK(find(written(workload, scenario), "optimizer").empty());
  scenario.assumptions.cpu_adam_traffic = 56.0;
  CHECK(copied(written(workload, scenario), "optimizer on CPU", cpu_memory_path) == 2 * one);
  CHECK(find(written(workload, scenario), "clipping on CPU").empty());
  scenario.finetune.gradient_clipping = true;
  CHECK(find(written(workload, scenario), "clipping on CPU").size() == 1);
}

TEST_CASE("S18: a gradient that is added to one on the host makes the CPU wait", "[plan][offload]") {
  const Workload workload = toy::transformer(2);
  const Program program = written(workload, offloaded(Strategy::fsdp2, 2));
  CHECK(find(program, "accumulate on CPU").size() == find(program, "gradients to host").size() / 2);
}

TEST_CASE("offloaded ranks keep no states on the card", "[plan][offload]") {
  const Workload workload = toy::transformer(2);
  for (const Strategy strategy : {Strategy::fsdp1, Strategy::fsdp2}) {
    const Program program = written(workload, offloaded(strategy));
    for (const Op& op : program.ops) {
      for (const MemoryEffect& effect : op.effects) {
        CHECK(effect.category != MemoryCategory::optimizer);
        CHECK(effect.category != MemoryCategory::weights);
      }
    }
  }
}
