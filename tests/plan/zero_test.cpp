// The programs of DeepSpeed's ZeRO (semantics Z1 to Z14, Z16), and the buckets of their gradients.
#include "plan/zero_coordinator.hpp"
#include "plan/zero_modules.hpp"
#include "plan/zero_reducer.hpp"

#include "catch.hpp"
#include "config/reader.hpp"
#include "csv_rows.hpp"
#include "plan/binding.hpp"
#include "toy.hpp"
#include "workload/workload.hpp"

#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace takt;
using toy::find;
using toy::label;
using toy::waits_for;

namespace {

constexpr std::int64_t ranks = 4;

Scenario zero(Strategy stage, std::int64_t micro_steps = 1) {
  Scenario scenario;
  scenario.parallel.strategy = stage;
  scenario.batch.gradient_accumulation = micro_steps;
  scenario.finetune.gradient_clipping = false;
  return scenario;
}

struct Written {
  Written(const Workload& workload, const Scenario& scenario, const KernelPricer& pricer = toy::pricer())
      : step(scenario.parallel.strategy == Strategy::zero3 ? write_zero3_step({scenario, workload, pricer, ranks, 1})
                                                           : write_zero12_step({scenario, workload, pricer, ranks, 1})) {
  }
  const Program& program() const { return step.program; }

  WrittenStep step;
};

/// Bytes of the calls with a label, in order.
std::vector<std::int64_t> calls(const Program& program, const std::string& text) {
  std::vector<std::int64_t> bytes;
  for (const std::size_t i : find(program, text)) {
    const auto* call = std::get_if<Collective>(&program.ops[i].work);
    if (call) bytes.push_back(program.comms[index(call->comm)].calls[call->call].bytes.count());
  }
  return bytes;
}

const std::string& stream_of(const Program& program, std::size_t op) {
  return program.streams[index(program.ops[op].stream)].name;
}

/// Llama 3.1 8B, full fine-tune, in bf16; a short sequence, since kernels' times do not matter here.
struct Llama {
  Llama(Strategy stage, std::int64_t bucket) : scenario(zero(stage)), pricer(toy::pricer()) {
    scenario.batch.sequence_length = 16;
    scenario.assumptions.compute = ComputeBasis::free;
    scenario.parallel.zero.reduce_bucket_size = bucket;
    const ModelSpec model =
        read_model(read_text_file(takt::test::source_dir() + "/models/llama-3.1-8b.toml").value()).value();
    CardSpec card = read_card(read_text_file(takt::test::source_dir() + "/topologies/cards/h200-nvl.toml").value()).value();
    pricer = KernelPricer(card, ComputeBasis::free);
    workload = build_workload(model, scenario, pricer).value();
  }

  Scenario scenario;
  KernelPricer pricer;
  Workload workload;
};

std::int64_t number_behind(const std::string& text, const std::string& mark) {
  return std::stoll(text.substr(text.find(mark) + mark.size()));
}

}  // namespace

TEST_CASE("Z5: buckets of Llama 3.1 8B are those that were worked out from DeepSpeed", "[plan][zero]") {
  const auto rows = test::csv_rows("zero.csv");
  REQUIRE(rows.size() == 8);
  for (const auto& row : rows) {
    CAPTURE(row[0], row[1]);
    const bool stage_3 = row[0].find("stage3") != std::string::npos;
    const Llama llama(stage_3 ? Strategy::zero3 : Strategy::zero2, number_behind(row[0], "reduce_bucket_size="));
    const Written written(llama.workload, llama.scenario, llama.pricer);
    const std::vector<std::int64_t> bytes = calls(written.program(), stage_3 ? "reduce-scatter" : "all-reduce");
    if (row[1] == "n_reduce_buckets") {
      CHECK(static_cast<std::int64_t>(bytes.size()) == std::stoll(row[2]));
      continue;
    }
    std::istringstream expected(row[2]);
    for (std::size_t i = 0; i < 8; ++i) {
      std::int64_t elements = 0;
      expected >> elements;
      CHECK(bytes[i] == 2 * elements);
    }
  }
}

TEST_CASE("Z5: a gradient without room flushes, one beyond the bucket goes alone", "[plan][zero]") {
  const std::vector<std::int64_t> elements{3, 4, 20, 10, 1};
  CHECK(zero_buckets(elements, 10) == std::vector<ZeroBucket>{{7, false}, {20, true}, {10, false}, {1, false}});
}

TEST_CASE("Z1: reductions overlap by default at stage 3 only", "[plan][zero]") {
  CHECK_FALSE(overlaps_reductions(zero(Strategy::zero1).parallel));
  CHECK_FALSE(overlaps_reductions(zero(Strategy::zero2).parallel));
  CHECK(overlaps_reductions(zero(Strategy::zero3).parallel));
  Scenario scenario = zero(Strategy::zero2);
  scenario.parallel.zero.overlap_comm = true;
  CHECK(overlaps_reductions(scenario.parallel));
}

TEST_CASE("Z2, Z7: stages 1 and 2 all-reduce gradients and gather weights: 1.5 times DDP", "[plan][zero]") {
  const Workload workload = toy::transformer(2);
  for (const Strategy stage : {Strategy::zero1, Strategy::zero2}) {
    const Written written(workload, zero(stage));
    std::int64_t reduced = 0;
    for (const std::int64_t bytes : calls(written.program(), "all-reduce")) reduced += bytes;
    const std::vector<std::int64_t> gathered = calls(written.program(), "all-gather");
    REQUIRE(gathered.size() == 1);  // one call, behind the optimizer, on compute
    CHECK(gathered.front() == reduced);
    CHECK(find(written.program(), "reduce-scatter").empty());
    const std::size_t gather = find(written.program(), "all-gather").front();
    CHECK(gather > find(written.program(), "optimizer").back());
    CHECK(stream_of(written.program(), gather) == "compute");
  }
}

TEST_CASE("Z3: stage 2 reduces in every micro-step, stage 1 in the last", "[plan][zero]") {
  const Workload workload = toy::transformer(2);
  CHECK(calls(Written(workload, zero(Strategy::zero1, 3)).program(), "all-reduce").size() == 1);
  CHECK(calls(Written(workload, zero(Strategy::zero2, 3)).program(), "all-reduce").size() == 3);
}

TEST_CASE("Z3: stage 1 without overlap_comm copies gradients behind the backward", "[plan][zero]") {
  const Workload workload = toy::transformer(2);
  Scenario scenario = zero(Strategy::zero1);
  scenario.assumptions.kernel_by_kernel = true;  // so that each kernel is an op with its own label
  const Written behind(workload, scenario);
  CHECK(find(behind.program(), "gradient to bucket").front() > find(behind.program(), "embedding backward").back());
  scenario.parallel.zero.overlap_comm = true;
  const Written hooked(workload, scenario);
  CHECK(find(hooked.program(), "gradient to bucket").front() < find(hooked.program(), "backward").back());
}

TEST_CASE("Z6: reductions run on compute, or on a stream that compute stays one behind", "[plan][zero]") {
  const Workload workload = toy::transformer(3);
  Scenario scenario = zero(Strategy::zero2);
  scenario.parallel.zero.reduce_bucket_size = 1;  // each gradient alone
  const Written serial(workload, scenario);
  for (const std::size_t i : find(serial.program(), "all-reduce")) CHECK(stream_of(serial.program(), i) == "compute");

  scenario.parallel.zero.overlap_comm = true;
  const Written overlapped(workload, scenario);
  const Program& program = overlapped.program();
  for (const std::size_t i : find(program, "all-reduce")) CHECK(stream_of(program, i) == "reduction");
  // The backward after the second reduction's launch waits for the first.
  const std::vector<std::size_t> taken = find(program, "reduce bucket");
  const std::vector<std::size_t> reduced = find(program, "all-reduce");
  std::set<std::size_t> of_first;
  for (const std::size_t i : taken) {
    if (i < reduced[1] && i > reduced[0]) of_first.insert(i);
  }
  bool waits = false;
  for (const std::size_t i : find(program, "backward")) {
    for (const std::size_t before : of_first) waits |= waits_for(program.ops[i], before);
  }
  CHECK(waits);
  // The epilogue blocks the CPU.
  std::size_t host_waits = 0;
  for (const Op& op : program.ops) host_waits += std::holds_alternative<HostWait>(op.work);
  std::size_t serial_host_waits = 0;
  for (const Op& op : serial.program().ops) serial_host_waits += std::holds_alternative<HostWait>(op.work);
  CHECK(host_waits > serial_host_waits + 1);  // for reductions and for compute
}

TEST_CASE("Z4: each gradient is copied, and the buffer is as large as the bucket", "[plan][zero]") {
  const Workload workload = toy::transformer(2);
  Scenario scenario = zero(Strategy::zero2);
  scenario.parallel.zero.reduce_bucket_size = 5000;
  const KernelPricer pricer = toy::pricer();
  ProgramBuilder builder(builder_options(scenario));
  const auto buffers = [&] {
    return ZeroReducer(builder, {scenario, workload, pricer, ranks, 1}, StreamId{}, StreamId{}, CommSlot{}, 2.0).buffers();
  };
  CHECK(buffers() == Bytes(10'000));
  scenario.parallel.zero.overlap_comm = true;
  CHECK(buffers() == Bytes(20'000));  // double buffering
  scenario.assumptions.kernel_by_kernel = true;
  CHECK(find(Written(workload, scenario).program(), "gradient to bucket").size() == 5);
}

TEST_CASE("Z8: modules are gathered one by one, and ahead once there is a trace", "[plan][zero]") {
  const std::vector<GatheredParameter> parameters{{10, false}, {10, false}, {10, false}, {10, false}};
  const Trace trace{{0}, {1}, {2}, {3}};
  const auto steps = coordinate(parameters, trace, {15, 1000, 0, true});
  CHECK(steps[0].fetch == std::vector<std::uint32_t>{0});
  CHECK(steps[0].prefetch == std::vector<std::uint32_t>{1, 2});  // the one that reaches the bucket is inside
  CHECK(steps[1].fetch.empty());
  CHECK(steps[1].prefetch == std::vector<std::uint32_t>{3});
  CHECK(steps[2].release == std::vector<std::uint32_t>{2});
  const auto first = coordinate(parameters, trace, {15, 1000, 0, false});
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(first[i].fetch == std::vector<std::uint32_t>{static_cast<std::uint32_t>(i)});
    CHECK(first[i].prefetch.empty());
  }
  const auto few_live = coordinate(parameters, trace, {15, 20, 0, true});
  CHECK(few_live[0].prefetch == std::vector<std::uint32_t>{1});  // live: 10, room for 10 more
}

TEST_CASE("Z9: small parameters are never gathered or released", "[plan][zero]") {
  const auto steps = coordinate({{10, false}, {1, true}}, {{0}, {1}}, {100, 1000, 0, true});
  CHECK(steps[0].prefetch.empty());
  CHECK(steps[1].fetch.empty());
  CHECK(steps[1].release.empty());
}

TEST_CASE("Z10: what is used again soon stays gathered", "[plan][zero]") {
  const Trace trace{{0}, {1}, {1}, {0}};
  const std::vector<GatheredParameter> parameters{{10, false}, {10, false}};
  const auto kept = coordinate(parameters, trace, {0, 1000, 15, true});
  CHECK(kept[0].release == std::vector<std::uint32_t>{0});  // used again behind 20 elements
  CHECK(kept[1].release.empty());
  CHECK(kept[3].fetch == std::vector<std::uint32_t>{0});
  CHECK(coordinate(parameters, trace, {0, 1000, 1000, true})[0].release.empty());
}

TEST_CASE("Z8: kernels of a layer are told apart by module", "[plan][zero]") {
  BlockKind kind = toy::block("layer", {toy::parameter("q.w", 4, 4, 10), toy::parameter("o.w", 4, 4, 20),
                                        toy::parameter("ln1.w", 4, 1, 0)});
  kind.forward = {toy::kernel("input norm", toy::ms(1)), toy::kernel("q_proj", toy::ms(1)),
                  toy::kernel("attention", toy::ms(1)), toy::kernel("o_proj", toy::ms(1)),
                  toy::kernel("residual", toy::ms(1))};
  kind.backward = {toy::kernel("o_proj dgrad", toy::ms(1)), toy::kernel("o_proj wgrad", toy::ms(1)),
                   toy::kernel("attention", toy::ms(1)), toy::kernel("q_proj dgrad", toy::ms(1))};
  const ModulePass forward = forward_pass(kind, kind.forward);
  CHECK(forward.before.empty());
  REQUIRE(forward.visits.size() == 3);
  CHECK(forward.visits[0].parameters == std::vector<std::uint32_t>{2});
  CHECK(forward.visits[1].kernels.size() == 2);  // q_proj and attention
  CHECK(forward.visits[2].kernels.size() == 2);
  const ModulePass backward = backward_pass(kind, kind.backward);
  CHECK(backward.visits[0].parameters == std::vector<std::uint32_t>{1});
  CHECK(backward.visits[0].kernels.size() == 3);
  CHECK(backward.visits[1].kernels.size() == 1);
}

TEST_CASE("Z11: the host stops when more than two gathers are under way", "[plan][zero]") {
  Scenario scenario = zero(Strategy::zero3);
  scenario.parallel.zero.param_persistence_threshold = 0;
  scenario.parallel.zero.prefetch_bucket_size = 0;
  scenario.parallel.zero.max_reuse_distance = 0;
  const Written written(toy::transformer(6), scenario);
  const Program& program = written.program();
  const std::vector<std::size_t> gathers = find(program, "all-gather");
  REQUIRE(gathers.size() > 8);
  for (std::size_t i = 0; i + 3 < 8; ++i) {
    bool waited = false;
    for (std::size_t op = gathers[i + 2]; op < gathers[i + 3]; ++op) {
      const auto* wait = std::get_if<HostWait>(&program.ops[op].work);
      waited |= wait && index(wait->op) >= gathers[i];
    }
    CHECK(waited);
  }
}

TEST_CASE("gathers of stage 3 wait for room among the live parameters", "[plan][zero]") {
  Scenario scenario = zero(Strategy::zero3);
  scenario.parallel.zero.param_persistence_threshold = 0;
  scenario.parallel.zero.max_reuse_distance = 0;
  const auto waiting_gathers = [&](std::int64_t most) {
    scenario.parallel.zero.max_live_parameters = most;
    const Written written(toy::layers_only(6), scenario);
    const Program& program = written.program();
    std::size_t count = 0;
    for (const std::size_t i : find(program, "all-gather")) {
      for (const OpId wait : program.ops[i].waits) count += stream_of(program, index(wait)) == "compute";
    }
    return count;
  };
  CHECK(waiting_gathers(1'000'000) == 0);  // room for the whole model
  CHECK(waiting_gathers(2 * 256) > 4);     // for two layers
}

TEST_CASE("Z12, Z13: stage 3 reduce-scatters every micro-step and gathers only small parameters at the end",
          "[plan][zero]") {
  Scenario scenario = zero(Strategy::zero3, 2);
  scenario.parallel.zero.param_persistence_threshold = 20;  // the head's norm of 16
  const Written written(toy::transformer(2), scenario);
  const Program& program = written.program();
  CHECK(calls(program, "reduce-scatter").size() == 2);
  CHECK(find(program, "all-reduce").empty());
  for (const std::size_t i : find(program, "reduce-scatter")) CHECK(stream_of(program, i) == "reduce-and-partition");
  const std::vector<std::int64_t> last = calls(program, "all-gather of small parameters");
  REQUIRE(last.size() == 1);
  CHECK(last.front() == 2 * 16);
  CHECK(find(program, "all-gather of small parameters").front() > find(program, "optimizer").back());
}

TEST_CASE("Z13: sub-groups bound the optimizer's FP32 gradients", "[plan][zero]") {
  Scenario scenario = zero(Strategy::zero3);
  const auto temporary = [&](std::int64_t group) {
    scenario.parallel.zero.sub_group_size = group;
    const Written written(toy::transformer(2), scenario);
    Bytes most{};
    for (const Op& op : written.program().ops) {
      if (op.phase != Phase::optimizer) continue;
      for (const MemoryEffect& effect : op.effects) {
        if (effect.category == MemoryCategory::temporary) most = std::max(most, effect.delta);
      }
    }
    return most;
  };
  CHECK(temporary(100) == Bytes(4 * 100));
  CHECK(temporary(1'000'000) > Bytes(4 * 100));
}

TEST_CASE("Z14: an offloaded optimizer takes gradients over PCIe, host memory, and weights back", "[plan][zero]") {
  Scenario scenario = zero(Strategy::zero2);
  scenario.parallel.offload_optimizer = Offload::cpu;
  const Workload workload = toy::transformer(2);
  const Written written(workload, scenario);
  const Program& program = written.program();
  std::int64_t elements = 0;
  for (const std::uint32_t k : workload.blocks) {
    for (const Parameter& p : workload.kinds[k].parameters) elements += p.elements();
  }
  const auto copied = [&](const std::string& text, std::uint32_t path) {
    std::int64_t bytes = 0;
    for (const std::size_t i : find(program, text)) {
      const auto* copy = std::get_if<Copy>(&program.ops[i].work);
      REQUIRE(copy);
      CHECK(copy->path == path);
      bytes += copy->bytes.count();
    }
    return bytes;
  };
  CHECK(copied("gradients to host", device_to_host_path) == 2 * elements / ranks);
  CHECK(copied("optimizer on CPU", cpu_memory_path) == 28 * elements / ranks);
  CHECK(copied("weights to card", host_to_device_path) == 2 * elements / ranks);
  CHECK(find(program, "optimizer").empty());  // none on the card
  CHECK(find(program, "all-gather").front() > find(program, "weights to card").front());

  scenario.parallel.offload_optimizer = Offload::nvme;
  scenario.parallel.zero.sub_group_size = elements / ranks / 2;
  const Written on_nvme(workload, scenario);
  CHECK(find(on_nvme.program(), "states from NVMe").size() >= 2);
  CHECK(find(on_nvme.program(), "states to NVMe").size() == find(on_nvme.program(), "states from NVMe").size());
}

TEST_CASE("offloaded parameters cross PCIe before each gather", "[plan][zero]") {
  Scenario scenario = zero(Strategy::zero3);
  scenario.parallel.offload_params = Offload::cpu;
  scenario.parallel.zero.param_persistence_threshold = 0;
  const Written written(toy::transformer(2), scenario);
  CHECK(find(written.program(), "parameters to card").size() == find(written.program(), "all-gather").size());
  CHECK(written.step.states_per_rank < Written(toy::transformer(2), zero(Strategy::zero3)).step.states_per_rank);
}

TEST_CASE("Z16: adapters alone are reduced, frozen weights are still gathered", "[plan][zero]") {
  Workload workload = toy::transformer(2);
  for (BlockKind& kind : workload.kinds) {
    for (Parameter& parameter : kind.parameters) {
      parameter.trainable = false;
      parameter.gradient_bytes = 0.0;
    }
  }
  Parameter adapter = toy::parameter("q.lora_A", 4, 16, 11);
  adapter.bytes = adapter.gradient_bytes = 4.0;
  workload.kinds[1].parameters.push_back(adapter);
  Scenario scenario = zero(Strategy::zero3);
  scenario.parallel.zero.param_persistence_threshold = 0;
  scenario.parallel.zero.max_reuse_distance = 0;
  scenario.parallel.zero.prefetch_bucket_size = 0;
  const Written written(workload, scenario);
  CHECK(calls(written.program(), "reduce-scatter") == std::vector<std::int64_t>{2 * 4 * 16 * 4});
  std::int64_t gathered = 0;
  for (const std::int64_t bytes : calls(written.program(), "all-gather")) gathered += bytes;
  const std::int64_t layer = 2 * 16 * 16 + 4 * 64;
  CHECK(gathered >= 2 * 2 * layer);  // both layers, in forward and in backward
  for (const Strategy stage : {Strategy::zero1, Strategy::zero2}) {
    CHECK(calls(Written(workload, zero(stage)).program(), "all-reduce") == std::vector<std::int64_t>{2 * 4 * 16 * 4});
  }
}
