// The program of DistributedDataParallel (semantics D6, D7, D9, D10, D13, D15).
#include <string>
#include <vector>

#include "catch.hpp"
#include "toy.hpp"

using namespace takt;
using toy::find;
using toy::label;
using toy::waits_for;

namespace {

/// Buckets of one gradient each: three layers of 512 bytes, a limit below that.
Scenario small_buckets() {
  Scenario scenario;
  scenario.parallel.strategy = Strategy::ddp;
  scenario.parallel.bucket_size = Bytes(1);
  scenario.parallel.first_bucket_small = false;
  return scenario;
}

Program ddp(const Workload& workload, const Scenario& scenario) {
  const KernelPricer pricer = toy::pricer();
  return write_ddp_step({scenario, workload, pricer, 1, 2}).program;
}

std::string order(const Program& program) {
  std::string text;
  for (const Op& op : program.ops) {
    const std::string& name = label(program, op);
    if (name == "forward") text += "F" + std::to_string(op.unit) + " ";
    if (name == "backward") text += "B" + std::to_string(op.unit) + " ";
    if (name == "all-reduce") text += "AR" + std::to_string(op.unit) + " ";
    if (name == "bucket to gradient") text += "copy" + std::to_string(op.unit) + " ";
    if (name == "accumulate") text += "add ";
    if (name == "optimizer") text += "step";
  }
  return text;
}

}  // namespace

TEST_CASE("buckets are reduced as they fill and copied back after the backward (D7, D9)", "[plan]") {
  const Program program = ddp(toy::layers_only(3), small_buckets());
  REQUIRE(order(program) == "F0 F1 F2 B2 AR0 B1 AR1 B0 AR2 copy0 copy1 copy2 step");
  for (std::size_t bucket = 0; bucket < 3; ++bucket) {
    const Op& reduce = program.ops[find(program, "all-reduce")[bucket]];
    REQUIRE(waits_for(reduce, find(program, "backward")[bucket]));
    const Op& copy = program.ops[find(program, "bucket to gradient")[bucket]];
    REQUIRE(copy.waits == std::vector<OpId>{id_at<OpId>(find(program, "all-reduce")[bucket])});
  }
}

TEST_CASE("each gradient is written into its bucket by one kernel that reads and writes it (D6)", "[plan]") {
  const Program program = ddp(toy::layers_only(1), small_buckets());
  const auto& segment = std::get<Segment>(program.ops[find(program, "backward")[0]].work);
  REQUIRE(segment.kernel_count == 2);   // the backward kernel, then the copy joins it
  const Kernel& copy = program.kernels[segment.first_kernel + 1];
  REQUIRE(copy.name == std::string("gradient to bucket"));
  REQUIRE(copy.memory == Bytes(2 * 16 * 16 * 2));
}

TEST_CASE("as bucket views gradients are not copied back, and the optimizer waits itself (D9, D10)", "[plan]") {
  Scenario scenario = small_buckets();
  scenario.parallel.gradient_as_bucket_view = true;
  const Program program = ddp(toy::layers_only(3), scenario);
  REQUIRE(order(program) == "F0 F1 F2 B2 AR0 B1 AR1 B0 AR2 step");
  REQUIRE(program.ops[find(program, "gradient clipping")[0]].waits.size() == 3);
}

TEST_CASE("no_sync: micro-steps before the last add up and communicate nothing (D13)", "[plan]") {
  Scenario scenario = small_buckets();
  scenario.batch.gradient_accumulation = 2;
  scenario.parallel.sync_each_micro_step = false;
  REQUIRE(order(ddp(toy::layers_only(2), scenario)) ==
          "F0 F1 B1 B0 F0 F1 B1 AR0 B0 AR1 copy0 copy1 step");
  scenario.parallel.sync_each_micro_step = true;
  REQUIRE(order(ddp(toy::layers_only(2), scenario)) ==
          "F0 F1 B1 AR0 B0 AR1 copy0 copy1 F0 F1 B1 AR0 B0 AR1 copy0 copy1 step");
}

TEST_CASE("a bucket is launched inside a block's backward when its gradients are there", "[plan]") {
  // down (3/4 of the elements) arrives after three of four kernels, q after the fourth.
  Workload workload = toy::layers_only(1);
  workload.kinds[1].parameters = {toy::parameter("q.w", 10, 1, 1), toy::parameter("down.w", 30, 1, 2)};
  workload.kinds[1].backward.assign(4, toy::kernel("k", toy::ms(1)));
  REQUIRE(order(ddp(workload, small_buckets())) == "F0 B0 AR0 B0 AR1 copy0 copy1 step");
}

TEST_CASE("only adapters are in buckets (D8)", "[plan]") {
  Workload workload = toy::layers_only(2);
  workload.kinds[1].parameters[0].trainable = false;
  Parameter adapter = toy::parameter("q.lora_A", 4, 16);
  adapter.bytes = adapter.gradient_bytes = 4.0;
  workload.kinds[1].parameters.push_back(adapter);
  const Program program = ddp(workload, small_buckets());
  REQUIRE(program.comms[0].calls.size() == 1);
  REQUIRE(program.comms[0].calls[0].bytes == Bytes(4 * 4 * 16));
}
