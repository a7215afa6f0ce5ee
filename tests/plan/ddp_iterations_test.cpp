// What DistributedDataParallel does in its first steps, and what its options change (semantics D2 to D4, D11, D12, D14,
// D16).
#include "catch.hpp"
#include "toy.hpp"

#include <string>
#include <vector>

using namespace takt;
using toy::find;
using toy::label;
using toy::waits_for;

namespace {

/// A bucket a gradient once buckets are rebuilt.
Scenario ddp(std::int64_t iteration) {
  Scenario scenario;
  scenario.parallel.strategy = Strategy::ddp;
  scenario.parallel.bucket_size = Bytes(1);
  scenario.parallel.first_bucket_small = false;
  scenario.assumptions.iteration = iteration;
  scenario.finetune.loss_read_back = LossReadBack::none;
  return scenario;
}

Program written(const Scenario& scenario, const Workload& workload) {
  const KernelPricer pricer = toy::pricer();
  return write_ddp_step({scenario, workload, pricer, 1, 2}).program;
}

/// Backward and collectives in the order of issue.
std::string order(const Program& program) {
  std::string text;
  for (const Op& op : program.ops) {
    const std::string& name = label(program, op);
    if (name == "backward") text += "B" + std::to_string(op.unit) + " ";
    if (name == "all-reduce") text += "AR" + std::to_string(op.unit) + " ";
    if (name == "broadcast of buffers") text += "buffers ";
    if (name == "broadcast of bucket indices") text += "indices ";
    if (name == "all-reduce of used parameters") text += "used ";
    if (name == "host wait") text += "wait ";
    if (name == "forward" && op.unit == 0) text += "F ";
  }
  return text;
}

Bytes message(const Program& program, const std::string& name, std::size_t which = 0) {
  const auto& call = std::get<Collective>(program.ops[find(program, name).at(which)].work);
  return program.comms[index(call.comm)].calls[call.call].bytes;
}

}  // namespace

TEST_CASE("the first step has one bucket, reduced when the last gradient is there (D2)", "[plan]") {
  const Program program = written(ddp(1), toy::layers_only(3));
  REQUIRE(order(program) == "F B2 B1 B0 AR0 ");
  REQUIRE(message(program, "all-reduce") == Bytes(3 * 512));
}

TEST_CASE(
    "the second step rebuilds the buckets: two broadcasts whose results the CPU waits for (D4); all-reduces do not "
    "hold it (X5)",
    "[plan]") {
  const Program program = written(ddp(2), toy::layers_only(3));
  REQUIRE(order(program) == "indices wait indices wait F B2 AR0 B1 AR1 B0 AR2 ");
  REQUIRE(order(written(ddp(3), toy::layers_only(3))) == "F B2 AR0 B1 AR1 B0 AR2 ");
}

TEST_CASE("a static graph reduces after the backward of its first step (D12)", "[plan]") {
  Scenario scenario = ddp(1);
  scenario.parallel.ddp.static_graph = true;
  const Program first = written(scenario, toy::layers_only(3));
  REQUIRE(order(first) == "F B2 B1 B0 AR0 ");
  REQUIRE(waits_for(first.ops[find(first, "all-reduce")[0]], find(first, "gradient to bucket").back()));
  scenario.assumptions.iteration = 3;
  REQUIRE(order(written(scenario, toy::layers_only(3))) == "F B2 AR0 B1 AR1 B0 AR2 ");
}

TEST_CASE(
    "find_unused_parameters: buckets by registration from the first step on, and one number a parameter (D3, D11)",
    "[plan]") {
  // Layers of 512 bytes, buckets of 600: registration puts layers 0 and 1 together, arrival layers 2 and 1.
  Scenario scenario = ddp(1);
  scenario.parallel.bucket_size = Bytes(600);
  scenario.parallel.ddp.find_unused_parameters = true;
  for (const std::int64_t iteration : {1, 2, 3}) {
    scenario.assumptions.iteration = iteration;
    const Program program = written(scenario, toy::layers_only(3));
    REQUIRE(order(program) == "F B2 AR0 B1 B0 AR1 used ");
    REQUIRE(message(program, "all-reduce", 0) == Bytes(512));
    REQUIRE(message(program, "all-reduce", 1) == Bytes(1024));
    REQUIRE(message(program, "all-reduce of used parameters") == Bytes(3 * 4));
  }
  scenario.parallel.ddp.find_unused_parameters = false;
  REQUIRE(order(written(scenario, toy::layers_only(3))) == "F B2 B1 AR0 B0 AR1 ");
}

TEST_CASE("rank 0's buffers go out before a forward that follows a synchronising one (D14)", "[plan]") {
  Workload workload = toy::layers_only(1);
  workload.buffers = Bytes(256);
  Scenario scenario = ddp(0);
  scenario.batch.gradient_accumulation = 2;
  scenario.parallel.sync_each_micro_step = false;
  const Program program = written(scenario, workload);
  REQUIRE(order(program) == "buffers F B0 F B0 AR0 ");
  REQUIRE(message(program, "broadcast of buffers") == Bytes(256));
  REQUIRE(waits_for(program.ops[find(program, "forward")[0]], find(program, "broadcast of buffers")[0]));
  scenario.parallel.sync_each_micro_step = true;
  REQUIRE(order(written(scenario, workload)) == "buffers F B0 AR0 buffers F B0 AR0 ");
  scenario.parallel.ddp.broadcast_buffers = false;
  REQUIRE(order(written(scenario, workload)) == "F B0 AR0 F B0 AR0 ");
}

TEST_CASE("a communication hook halves 32-bit messages and casts on both sides (D16)", "[plan]") {
  Workload workload = toy::layers_only(2);
  workload.kinds[1].parameters[0].gradient_bytes = 4.0;
  Scenario scenario = ddp(0);
  REQUIRE(message(written(scenario, workload), "all-reduce") == Bytes(1024));
  scenario.parallel.ddp.comm_hook = CommHook::bf16;
  const Program program = written(scenario, workload);
  REQUIRE(message(program, "all-reduce") == Bytes(512));
  const Op& compress = program.ops[find(program, "compress")[0]];
  // Read 1,024, write 512; divide: read 512, write 512.
  REQUIRE(std::get<Segment>(compress.work).memory_bytes == 1024 + 512 + 512 + 512);
  REQUIRE(waits_for(program.ops[find(program, "all-reduce")[0]], find(program, "compress")[0]));
  const std::size_t decompress = find(program, "decompress")[0];
  REQUIRE(program.streams[index(program.ops[decompress].stream)].name == "all-reduce");
  REQUIRE(waits_for(program.ops[find(program, "bucket to gradient")[0]], decompress));
}
