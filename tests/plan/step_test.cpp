// One card: order, gradient accumulation, optimizer kernels (semantics O1 to O4).
#include <string>

#include "catch.hpp"
#include "toy.hpp"

using namespace takt;
using toy::find;

namespace {

Program single(const Workload& workload, const Scenario& scenario) {
  const KernelPricer pricer = toy::pricer();
  return write_single_card_step({scenario, workload, pricer, 1, 1}).program;
}

/// Kernels of a kind in the order in which the card runs them.
std::vector<Kernel> kernels_where(const Program& program, bool (*chosen)(const Kernel&)) {
  std::vector<Kernel> kernels;
  for (const Op& op : program.ops) {
    const auto* segment = std::get_if<Segment>(&op.work);
    if (segment == nullptr) continue;
    for (std::uint32_t k = 0; k < segment->kernel_count; ++k) {
      const Kernel& kernel = program.kernels[segment->first_kernel + k];
      if (chosen(kernel)) kernels.push_back(kernel);
    }
  }
  return kernels;
}

/// Without those of gradient clipping.
std::vector<Kernel> optimizer_kernels(const Program& program) {
  return kernels_where(program, [](const Kernel& kernel) {
    return kernel.kind == KernelKind::optimizer && std::string(kernel.name).find("norm") == std::string::npos &&
           kernel.name != std::string("scale gradients");
  });
}

/// 2 x (64 x 16) + 16 + 2 x (16 x 16) elements.
constexpr std::int64_t elements = 2576;

}  // namespace

TEST_CASE("one card runs its blocks forward, backward in reverse, then the optimizer", "[plan]") {
  const Program program = single(toy::transformer(2), {});
  std::string order;
  for (const Op& op : program.ops) {
    order += toy::label(program, op) + (op.unit == no_unit ? "" : std::to_string(op.unit)) + ", ";
  }
  REQUIRE(order ==
          "embedding forward, forward0, forward1, head forward, head backward, backward1, backward0, "
          "embedding backward, host wait, gradient clipping, optimizer, ");
  REQUIRE(program.comms.empty());
  for (const Op& op : program.ops) REQUIRE((op.waits.empty() || std::holds_alternative<HostWait>(op.work)));
}

TEST_CASE("later micro-steps add their gradients to the first's, a kernel a parameter", "[plan]") {
  Scenario scenario;
  scenario.batch.gradient_accumulation = 3;
  const Program program = single(toy::transformer(2), scenario);
  REQUIRE(find(program, "backward").size() == 3 * 2);
  const std::vector<Kernel> added = kernels_where(
      program, [](const Kernel& kernel) { return kernel.name == std::string("accumulate gradient"); });
  REQUIRE(added.size() == 2 * 5);   // embed, two layers, norm, lm_head
  REQUIRE(added[0].memory == Bytes(3 * 2 * 16));          // norm: two reads, one write of 2 bytes
}

TEST_CASE("the fused optimizer is one kernel of its traffic an element (O1)", "[plan]") {
  const std::vector<Kernel> kernels = optimizer_kernels(single(toy::transformer(2), {}));
  REQUIRE(kernels.size() == 1);
  REQUIRE(kernels[0].memory == Bytes(28 * elements));
  REQUIRE(kernels[0].kind == KernelKind::optimizer);
}

TEST_CASE("AdamW foreach runs eight passes of 80 bytes an element in all (O2)", "[plan]") {
  Scenario scenario;
  scenario.finetune.optimizer_form = OptimizerForm::foreach_;
  Workload workload = toy::transformer(2);
  workload.optimizer_traffic = 80.0;
  workload.optimizer_temporary = 4.0;
  const std::vector<Kernel> kernels = optimizer_kernels(single(workload, scenario));
  REQUIRE(kernels.size() == 8);
  Bytes sum{};
  for (const Kernel& kernel : kernels) sum += kernel.memory;
  REQUIRE(sum == Bytes(80 * elements));
  REQUIRE(kernels.back().memory == Bytes(16 * elements));   // addcdiv
  // One FP32 temporary while they run (M5).
  const Program program = single(workload, scenario);
  const Op& step = program.ops.back();
  REQUIRE(step.effects.front().delta == Bytes(4 * elements));
  REQUIRE(step.effects[1].delta == Bytes(-4 * elements));
}

TEST_CASE("8-bit AdamW launches a kernel a tensor (O3)", "[plan]") {
  Scenario scenario;
  scenario.finetune.optimizer = Optimizer::adamw_8bit;
  REQUIRE(optimizer_kernels(single(toy::transformer(2), scenario)).size() == 5);
}

TEST_CASE("sharded ranks step over their shards only (O4)", "[plan]") {
  const KernelPricer pricer = toy::pricer();
  const Workload workload = toy::transformer(2);
  const Scenario scenario;
  const Program program = write_fsdp2_step({scenario, workload, pricer, 4, 1}).program;
  REQUIRE(optimizer_kernels(program)[0].memory == Bytes(28 * elements / 4));
}

TEST_CASE("a frozen block has no backward and keeps no activations", "[plan]") {
  Workload workload = toy::transformer(1);
  workload.kinds[0].has_backward = false;
  workload.kinds[0].memory.kept = Bytes(100);
  workload.kinds[0].parameters[0].trainable = false;
  const Program program = single(workload, {});
  REQUIRE(find(program, "embedding backward").empty());
  for (const Op& op : program.ops) {
    for (const MemoryEffect& effect : op.effects) REQUIRE(effect.category != MemoryCategory::activations);
  }
}
