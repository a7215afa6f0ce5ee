// What the CPU pays and waits for, and ranks that are slower (semantics H1, H6, H7, H8, O6).
#include <string>
#include <vector>

#include "catch.hpp"
#include "plan/rank_speed.hpp"
#include "toy.hpp"

using namespace takt;
using toy::find;
using toy::us;

namespace {

Segment only_segment(ProgramBuilder&& builder) {
  const Program program = std::move(builder).finish();
  REQUIRE(program.ops.size() == 1);
  return std::get<Segment>(program.ops[0].work);
}

BuilderOptions slow_host() {
  return {.kernel_launch = us(4), .eager_op = us(8), .collective_launch = us(25), .overlap = Overlap::streams,
          .join_kernels = true};
}

/// One card and two micro-steps.
Program two_micro_steps(LossReadBack read_back) {
  Scenario scenario;
  scenario.batch.gradient_accumulation = 2;
  scenario.finetune.loss_read_back = read_back;
  const KernelPricer pricer = toy::pricer();
  const Workload workload = toy::transformer(1);
  return write_single_card_step({scenario, workload, pricer, 1, 1}).program;
}

Program sharded(const Scenario& scenario) {
  const KernelPricer pricer = toy::pricer();
  const Workload workload = toy::transformer(2);
  return write_fsdp2_step({scenario, workload, pricer, 4, 1}).program;
}

}  // namespace

TEST_CASE("H1: a kernel costs the CPU its launches, its dispatches and its hook", "[plan]") {
  ProgramBuilder builder(slow_host());
  const StreamId stream = builder.stream(StreamKind::compute, "compute");
  Kernel kernel = toy::kernel("norm", us(1));
  kernel.launches = 8;
  kernel.dispatches = 8;
  kernel.host = us(3);
  builder.kernel(stream, kernel, "forward");
  const Program program = std::move(builder).finish();
  CHECK(program.ops[0].issue_cost == us(3 + 8 * 12));
  CHECK(program.kernel_issue[0] == us(3 + 12));  // until the first launch
}

TEST_CASE("H1: a kernel of n launches ends when the last is issued and has run", "[plan]") {
  // 8 launches 12 us apart, 1 us each: the last is issued 84 us after the first and ends at 85.
  ProgramBuilder slow(slow_host());
  Kernel kernel = toy::kernel("norm", us(8));
  kernel.launches = kernel.dispatches = 8;
  slow.kernel(slow.stream(StreamKind::compute, "compute"), kernel, "forward");
  CHECK(only_segment(std::move(slow)).issue_bound == us(85));
  // 8 launches of 20 us each: the card is slower, 160 us.
  ProgramBuilder fast(slow_host());
  kernel.time = us(160);
  fast.kernel(fast.stream(StreamKind::compute, "compute"), kernel, "forward");
  CHECK(only_segment(std::move(fast)).issue_bound == us(160));
}

TEST_CASE("H1: a compiled graph pays launches alone", "[plan]") {
  ProgramBuilder builder(slow_host());
  Kernel kernel = toy::kernel("fused", us(1));
  kernel.dispatches = 0;
  builder.kernel(builder.stream(StreamKind::compute, "compute"), kernel, "forward");
  CHECK(only_segment(std::move(builder)).issue == us(4));
}

TEST_CASE("H1: a hook delays the op behind it and ends the segment", "[plan]") {
  ProgramBuilder builder(slow_host());
  const StreamId stream = builder.stream(StreamKind::compute, "compute");
  builder.kernel(stream, toy::kernel("a", us(1)), "forward");
  builder.host_delay(us(100));
  builder.kernel(stream, toy::kernel("b", us(1)), "forward");
  const Program program = std::move(builder).finish();
  REQUIRE(program.ops.size() == 2);
  CHECK(program.ops[0].host_before == Duration{});
  CHECK(program.ops[1].host_before == us(100));
}

TEST_CASE("H1: FSDP2's hooks run once a unit and direction, DDP's once a gradient", "[plan]") {
  Scenario scenario;
  scenario.assumptions.fsdp2_hook = us(100);
  Duration hooks{};
  for (const Op& op : sharded(scenario).ops) hooks += op.host_before;
  CHECK(hooks == us(2 * 3 * 100));  // two layers and the root, forward and backward

  scenario.assumptions.ddp_hook = us(7);
  const KernelPricer pricer = toy::pricer();
  const Workload workload = toy::transformer(2);
  const Program ddp = write_ddp_step({scenario, workload, pricer, 1, 2}).program;
  std::int64_t hooked = 0;
  for (const Op& op : ddp.ops) {
    const auto* segment = std::get_if<Segment>(&op.work);
    if (segment == nullptr) continue;
    for (std::uint32_t k = 0; k < segment->kernel_count; ++k) {
      const Kernel& kernel = ddp.kernels[segment->first_kernel + k];
      if (kernel.host == us(7)) ++hooked;
    }
  }
  CHECK(hooked == 5);  // embed, two layers, norm, lm_head
}

TEST_CASE("O6, H6: clipping reads each gradient for its norm, then reads and writes it", "[plan]") {
  const KernelPricer pricer = toy::pricer();
  const Workload workload = toy::transformer(2);
  const Scenario scenario;
  const Program program = write_single_card_step({scenario, workload, pricer, 1, 1}).program;
  std::vector<Bytes> moved;
  for (const Kernel& kernel : program.kernels) {
    if (kernel.name == std::string("gradient norm") || kernel.name == std::string("scale gradients")) {
      moved.push_back(kernel.memory);
    }
  }
  REQUIRE(moved == std::vector<Bytes>{Bytes(4 * 2576), Bytes(8 * 2576)});  // 12 B a gradient in FP32
  CHECK(program.comms.empty());                                            // whole gradients: nothing to ask others
}

TEST_CASE("H6: shards need the others' norms: all ranks wait for each other before the optimizer", "[plan]") {
  const Program program = sharded({});
  const std::vector<std::size_t> reduction = find(program, "all-reduce of the norm");
  REQUIRE(reduction.size() == 1);
  const auto& call = std::get<Collective>(program.ops[reduction[0]].work);
  CHECK(program.comms[index(call.comm)].calls[call.call].bytes == Bytes(4));
  CHECK(reduction[0] < find(program, "optimizer")[0]);
  CHECK(program.ops[reduction[0]].stream == program.ops[find(program, "optimizer")[0]].stream);
  Scenario without;
  without.finetune.gradient_clipping = false;
  CHECK(find(sharded(without), "all-reduce of the norm").empty());
}

TEST_CASE("H7: the CPU waits for the loss after each micro-step, at the end, or never", "[plan]") {
  CHECK(find(two_micro_steps(LossReadBack::micro_step), "host wait").size() == 2);
  CHECK(find(two_micro_steps(LossReadBack::step), "host wait").size() == 1);
  CHECK(find(two_micro_steps(LossReadBack::none), "host wait").empty());
  // It waits for the backward of its micro-step, before anything of the next is issued.
  const Program program = two_micro_steps(LossReadBack::micro_step);
  const std::size_t wait = find(program, "host wait")[0];
  CHECK(find(program, "embedding backward")[0] < wait);
  CHECK(wait < find(program, "embedding forward")[1]);
}

TEST_CASE("H8: zeroing gradients frees them and launches nothing", "[plan]") {
  const Program program = two_micro_steps(LossReadBack::none);
  Bytes freed{};
  for (const MemoryEffect& effect : program.ops[find(program, "optimizer").back()].effects) {
    if (effect.category == MemoryCategory::gradients) freed += effect.delta;
  }
  CHECK(freed < Bytes(0));
  CHECK(toy::label(program, program.ops.back()) == "optimizer");  // nothing comes behind it
  for (const Kernel& kernel : program.kernels) CHECK(std::string(kernel.name).find("zero") == std::string::npos);
}

TEST_CASE("stragglers and jitter slow ranks down, the same way for the same seed", "[plan]") {
  Assumptions assumptions;
  CHECK(rank_speed(assumptions, 3) == 1.0);
  assumptions.stragglers = {{3, 1.25}};
  CHECK(rank_speed(assumptions, 3) == 0.8);
  CHECK(rank_speed(assumptions, 2) == 1.0);
  assumptions.jitter = 0.1;
  for (std::int64_t rank = 0; rank < 1000; ++rank) {
    const double speed = rank_speed(assumptions, rank) * (rank == 3 ? 1.25 : 1.0);
    CHECK(speed <= 1.0);
    CHECK(speed > 1.0 / 1.1);
  }
  Assumptions other = assumptions;
  other.seed = 2;
  CHECK(rank_speed(assumptions, 5) == rank_speed(assumptions, 5));
  CHECK(rank_speed(assumptions, 5) != rank_speed(other, 5));
  // The mean of a uniform share is a half: over 1,000 ranks within 0.5 +- 4 sigma, sigma = 1 / sqrt(12 * 1000).
  double mean = 0.0;
  for (std::uint64_t rank = 0; rank < 1000; ++rank) mean += random_share(1, rank) / 1000.0;
  CHECK(mean == Approx(0.5).margin(0.037));
}
