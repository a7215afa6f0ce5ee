// Options of fully_shard besides its defaults (semantics S1, S2, S8, S12, S13, S15, S16, S21).
#include "catch.hpp"
#include "plan/fsdp_unit.hpp"
#include "toy.hpp"

#include <string>
#include <vector>

using namespace takt;
using toy::find;
using toy::label;
using toy::waits_for;

namespace {

WrittenStep written(const Scenario& scenario, std::int64_t shards, std::int64_t replicas = 1) {
  const KernelPricer pricer = toy::pricer();
  const Workload workload = toy::layers_only(3);
  return write_fsdp2_step({scenario, workload, pricer, shards, replicas});
}

Scenario accumulating() {
  Scenario scenario;
  scenario.batch.gradient_accumulation = 3;
  return scenario;
}

std::size_t count(const WrittenStep& step, const std::string& text) {
  return find(step.program, text).size();
}

}  // namespace

TEST_CASE("reshard_after_forward = k: the backward gathers among k ranks, from parts kept there (S8)", "[plan]") {
  Scenario scenario;
  scenario.parallel.fsdp2.reshard_group = 2;
  const WrittenStep step = written(scenario, 4);
  const Program& program = step.program;
  REQUIRE(step.comm_groups == std::vector<RankGroup>{RankGroup::shard, RankGroup::reshard});
  const std::vector<std::size_t> gathers = find(program, "all-gather");
  REQUIRE(gathers.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    const auto& call = std::get<Collective>(program.ops[gathers[i]].work);
    REQUIRE(program.comms[index(call.comm)].name == (i < 3 ? "shard" : "reshard"));
    REQUIRE(program.comms[index(call.comm)].calls[call.call].bytes == Bytes(512));
  }
  // A part is half a layer, read and written; the layer's own next gather waits for the copy.
  const std::vector<std::size_t> copies = find(program, "reshard group copy");
  REQUIRE(copies.size() == 3);
  REQUIRE(std::get<Segment>(program.ops[copies[0]].work).memory_bytes == 512);
  for (std::size_t layer = 0; layer < 3; ++layer) {
    REQUIRE(waits_for(program.ops[gathers[5 - layer]], copies[layer]));
    if (layer < 2) REQUIRE_FALSE(waits_for(program.ops[gathers[layer + 1]], copies[layer]));
  }
  // The reduce-scatter still goes over the whole shard group.
  const auto& reduce = std::get<Collective>(program.ops[find(program, "reduce-scatter")[0]].work);
  REQUIRE(program.comms[index(reduce.comm)].name == "shard");
}

TEST_CASE("a reshard group of one keeps the parameters, one of all ranks frees them (S8)", "[plan]") {
  Scenario scenario;
  scenario.parallel.fsdp2.reshard_group = 1;
  REQUIRE(count(written(scenario, 4), "all-gather") == 3);
  scenario.parallel.fsdp2.reshard_group = 4;
  REQUIRE(count(written(scenario, 4), "all-gather") == 6);
  REQUIRE(count(written(scenario, 4), "reshard group copy") == 0);
}

TEST_CASE("parameters may stay after the backward of micro-steps that reduce nothing (S15)", "[plan]") {
  Scenario scenario = accumulating();
  scenario.parallel.sync_each_micro_step = false;
  REQUIRE(count(written(scenario, 2), "all-gather") == 3 * 6);
  // Gathered for the first forward, freed after it, gathered for its backward and kept: the second forward frees them
  // again, and so does the third.
  scenario.parallel.fsdp2.reshard_after_backward = false;
  REQUIRE(count(written(scenario, 2), "all-gather") == 6 + 3 + 3);
  scenario.parallel.reshard_after_forward = false;
  REQUIRE(count(written(scenario, 2), "all-gather") == 3);
}

TEST_CASE("hybrid: the replicas may be reduced in the last micro-step only, after the sums of all (S13)", "[plan]") {
  Scenario scenario = accumulating();
  REQUIRE(count(written(scenario, 2, 2), "all-reduce") == 9);
  scenario.parallel.fsdp2.all_reduce_each_micro_step = false;
  const WrittenStep step = written(scenario, 2, 2);
  const Program& program = step.program;
  REQUIRE(count(step, "reduce-scatter") == 9);
  REQUIRE(count(step, "all-reduce") == 3);
  const std::vector<std::size_t> sums = find(program, "accumulate");
  REQUIRE(sums.size() == 6);
  for (const std::size_t sum : sums) REQUIRE(program.streams[index(program.ops[sum].stream)].name == "reduce-scatter");
  REQUIRE(waits_for(program.ops[find(program, "all-reduce")[0]], sums[3]));
}

TEST_CASE("one group of parameters a layer, on streams for copy-in, gather, reduction and replicas (S1, S2)",
          "[plan]") {
  const WrittenStep step = written({}, 2, 2);
  std::vector<std::string> names;
  for (const Stream& stream : step.program.streams) names.push_back(stream.name);
  REQUIRE(names ==
          std::vector<std::string>{"compute", "all-gather copy-in", "all-gather", "reduce-scatter", "all-reduce"});
  REQUIRE(count(step, "reduce-scatter") == 3);
}

TEST_CASE("32- and 16-bit gradients are averaged by NCCL: no kernel divides them (S12)", "[plan]") {
  for (const Kernel& kernel : written({}, 8).program.kernels) {
    REQUIRE(std::string(kernel.name).find("divide") == std::string::npos);
  }
}

TEST_CASE("the gathers of a forward wait for all compute before it (S21)", "[plan]") {
  const WrittenStep step = written(accumulating(), 2);
  const Program& program = step.program;
  const std::size_t gather = find(program, "all-gather copy-in").at(6);  // the first of the second micro-step
  std::size_t last_compute = 0;
  for (std::size_t i = 0; i < gather; ++i) {
    const bool is_compute = std::holds_alternative<Segment>(program.ops[i].work) && index(program.ops[i].stream) == 0;
    if (is_compute) last_compute = i;
  }
  REQUIRE(waits_for(program.ops[gather], last_compute));
}

TEST_CASE("said not to be the last, a backward does not end with a wait for its reductions (S15)", "[plan]") {
  Scenario scenario = accumulating();
  const auto first_forward_waits = [&scenario] {
    const WrittenStep step = written(scenario, 2, 2);
    const std::size_t second = find(step.program, "all-gather copy-in").at(6);  // of the second micro-step
    const std::size_t reduced = find(step.program, "all-reduce").at(2);         // layer 0's, the last of the first
    for (std::size_t i = second; i < step.program.ops.size(); ++i) {
      const Op& op = step.program.ops[i];
      if (label(step.program, op) != "forward") continue;
      return waits_for(op, reduced) || waits_for(step.program.ops[second], reduced);
    }
    return false;
  };
  CHECK(first_forward_waits());
  scenario.parallel.fsdp2.wait_each_micro_step = false;
  CHECK_FALSE(first_forward_waits());
  // The last one waits for all, whatever was said before.
  const WrittenStep step = written(scenario, 2, 2);
  const Op& norm = step.program.ops[find(step.program, "gradient clipping").front()];
  CHECK(waits_for(norm, find(step.program, "accumulate").back()));  // behind the last all-reduce
}

TEST_CASE("an embedding wrapped apart is gathered for a backward that needs no weights, unless told (S16)", "[plan]") {
  const KernelPricer pricer = toy::pricer();
  Workload workload = toy::transformer(3);
  Scenario scenario;
  const auto gathers = [&] { return count(write_fsdp2_step({scenario, workload, pricer, 2, 1}), "all-gather"); };
  CHECK(gathers() == 7);  // three layers twice, the root once: it keeps its parameters
  scenario.parallel.fsdp2.embedding_unit = true;
  CHECK(gathers() == 9);
  scenario.parallel.fsdp2.unshard_in_backward = false;
  CHECK(gathers() == 8);

  // Frozen, it has no backward at all, but layer 0's prefetch does not know that: the gather is waited for and dropped.
  workload.kinds[0].has_backward = false;
  for (Parameter& parameter : workload.kinds[0].parameters) parameter.trainable = false;
  CHECK(gathers() == 8);
  scenario.parallel.fsdp2.unshard_in_backward = true;
  CHECK(gathers() == 9);
  const WrittenStep step = write_fsdp2_step({scenario, workload, pricer, 2, 1});
  CHECK(count(step, "all-gather copy-out") == 8);
  const Op& norm = step.program.ops[find(step.program, "gradient clipping").front()];
  CHECK(waits_for(norm, find(step.program, "all-gather").back()));
}

TEST_CASE("reductions in FP16 are sums, divided before and after so that nothing overflows (S12)", "[plan]") {
  Scenario scenario;
  scenario.finetune.reduce_precision = Precision::fp16;
  scenario.assumptions.kernel_by_kernel = true;
  const WrittenStep step = written(scenario, 4);  // 4 ranks: by 2 and by 2
  const std::vector<std::size_t> divisions = find(step.program, "divide");
  REQUIRE(divisions.size() == 6);
  for (const std::size_t at : divisions) {
    REQUIRE(step.program.streams[index(step.program.ops[at].stream)].name == "reduce-scatter");
  }
  const auto& reduce = std::get<Collective>(step.program.ops[find(step.program, "reduce-scatter")[0]].work);
  REQUIRE(step.program.comms[index(reduce.comm)].calls[reduce.call].reduction == Reduction::sum);
  scenario.finetune.reduce_precision = Precision::bf16;
  REQUIRE(count(written(scenario, 4), "divide") == 0);
}
