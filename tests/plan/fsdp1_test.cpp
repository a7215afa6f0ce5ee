// What FSDP1's units hold and do (semantics F3 to F6, F12, F14, F25 to F31, F40 to F44, F50).
#include "catch.hpp"
#include "plan/fsdp1_unit.hpp"
#include "toy.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace takt;
using toy::find;
using toy::label;
using toy::waits_for;

namespace {

Scenario fsdp1(Fsdp1Settings settings = {}) {
  Scenario scenario;
  scenario.parallel.strategy = Strategy::fsdp1;
  scenario.parallel.fsdp1 = settings;
  scenario.assumptions.iteration = 1;
  scenario.assumptions.kernel_by_kernel = true;  // each kernel keeps its label
  scenario.finetune.loss_read_back = LossReadBack::none;
  scenario.finetune.gradient_clipping = false;
  return scenario;
}

struct Written {
  WrittenStep step;

  Written(const Scenario& scenario, const Workload& workload, std::int64_t shards = 2, std::int64_t replicas = 1)
      : step(write(scenario, workload, shards, replicas)) {}

  const Program& program() const { return step.program; }
  const Op& op(std::size_t position) const { return program().ops[position]; }
  std::size_t at(const std::string& text, std::size_t which = 0) const { return find(program(), text).at(which); }
  std::size_t count(const std::string& text) const { return find(program(), text).size(); }
  Bytes bytes(std::size_t position) const {
    const auto& call = std::get<Collective>(op(position).work);
    return program().comms[index(call.comm)].calls[call.call].bytes;
  }
  std::string stream(std::size_t position) const { return program().streams[index(op(position).stream)].name; }

 private:
  static WrittenStep write(const Scenario& scenario, const Workload& workload, std::int64_t shards,
                           std::int64_t replicas) {
    const KernelPricer pricer = toy::pricer();
    return write_fsdp1_step({scenario, workload, pricer, shards, replicas});
  }
};

/// Decoder layers of a frozen 16 x 16 weight with an adapter of rank 4 on it, in `adapter_bytes`, and a frozen root.
Workload adapted(std::size_t layers, double adapter_bytes) {
  Workload workload = toy::transformer(layers);
  for (BlockKind& kind : workload.kinds) {
    for (Parameter& parameter : kind.parameters) parameter.trainable = false;
  }
  workload.kinds[0].has_backward = false;
  BlockKind& layer = workload.kinds[1];
  for (const char* name : {"q.lora_A", "q.lora_B"}) {
    Parameter matrix = toy::parameter(name, 4, 16, layer.parameters.back().used + 1);
    matrix.bytes = matrix.gradient_bytes = workload.reduce_bytes = adapter_bytes;
    layer.parameters.push_back(matrix);
  }
  const auto adapter = [](const char* name) {
    Kernel kernel = toy::kernel(name, toy::ms(1));
    kernel.kind = KernelKind::adapter;
    return kernel;
  };
  const Kernel base = toy::kernel("q_proj", toy::ms(8));
  layer.forward = {base, adapter("lora_A"), adapter("lora_B"), base};
  layer.backward = {base, adapter("lora_B wgrad"), adapter("lora_B dgrad"), adapter("lora_A wgrad"), base};
  return workload;
}

Fsdp1Settings peft() {
  Fsdp1Settings settings;
  settings.wrap_policy = WrapPolicy::peft;
  return settings;
}

}  // namespace

TEST_CASE("master shards are cast on a stream of their own before each gather (F4, F5)", "[plan]") {
  const Written w(fsdp1(), toy::layers_only(2));
  REQUIRE(w.count("cast shard") == 4);  // two layers, forward and backward
  for (std::size_t i = 0; i < 4; ++i) {
    REQUIRE(w.stream(w.at("cast shard", i)) == "pre-unshard");
    REQUIRE(waits_for(w.op(w.at("all-gather", i)), w.at("cast shard", i)));
  }
  // 128 elements of 4 bytes are read, of 2 written. Copies go without: they have the compute format already.
  REQUIRE(std::get<Segment>(w.op(w.at("cast shard")).work).memory_bytes == 128 * (4 + 2));
  Workload same_format = toy::layers_only(2);
  same_format.stored_bytes_trainable = 2.0;
  REQUIRE(Written(fsdp1(), same_format).count("cast shard") == 0);
}

TEST_CASE("the first gathers of a step wait for the optimizer of the step before (F6)", "[plan]") {
  Scenario scenario = fsdp1();
  scenario.assumptions.iteration = 2;
  const Written w(scenario, toy::layers_only(2));
  const std::size_t first = w.program().first_measured;
  const auto gathers = find(w.program(), "cast shard");
  const auto gather = std::find_if(gathers.begin(), gathers.end(), [&](std::size_t op) { return op >= first; });
  REQUIRE(waits_for(w.op(*gather), w.at("optimizer", 0)));
}

TEST_CASE("gradients: flat, cast, divided, reduced, divided, cast back, on the post-backward stream (F25, F27)",
          "[plan]") {
  Workload workload = toy::layers_only(1);
  workload.reduce_bytes = 4.0;
  const Written w(fsdp1(), workload, 4);
  const std::vector<std::string> order = {"gradients to flat", "cast gradient", "divide", "reduce-scatter", "divide"};
  std::size_t last = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t which = i == 4 ? 1 : 0;  // 4 ranks: divided by 2 before and by 2 after
    const std::size_t found = w.at(order[i], which);
    REQUIRE(found > last);
    last = found;
    if (i > 0) REQUIRE(w.stream(found) == "post-backward");
  }
  REQUIRE(waits_for(w.op(w.at("cast gradient")), w.at("gradients to flat")));
  REQUIRE(w.bytes(w.at("reduce-scatter")) == Bytes(16 * 16 * 4));
  REQUIRE(waits_for(w.op(w.at("optimizer")), last));  // F29
}

TEST_CASE("two ranks divide once, before the reduction (F27)", "[plan]") {
  REQUIRE(Written(fsdp1(), toy::layers_only(1), 2).count("divide") == 1);
}

TEST_CASE("a gradient that shards do not fill evenly is padded at run time without use_orig_params (F3)", "[plan]") {
  Workload workload = toy::layers_only(1);
  workload.kinds[1].parameters = {toy::parameter("odd", 7)};
  Fsdp1Settings packed;
  packed.use_orig_params = false;
  REQUIRE(Written(fsdp1(packed), workload).count("pad gradient") == 1);
  REQUIRE(Written(fsdp1(), workload).count("pad gradient") == 0);
  REQUIRE(Written(fsdp1(), workload).bytes(Written(fsdp1(), workload).at("reduce-scatter")) == Bytes(8 * 2));
}

TEST_CASE("hybrid: the shard goes over the replicas on a stream and a communicator of its own (F5, F28)", "[plan]") {
  Scenario scenario = fsdp1();
  scenario.parallel.sharding = Sharding::hybrid;
  const Written w(scenario, toy::layers_only(2), 2, 2);
  REQUIRE(w.step.comm_groups == std::vector<RankGroup>{RankGroup::shard, RankGroup::replicate});
  REQUIRE(w.stream(w.at("all-reduce")) == "all-reduce");
  REQUIRE(w.bytes(w.at("all-reduce")) == Bytes(16 * 16 * 2 / 2));
  REQUIRE(waits_for(w.op(w.at("all-reduce")), w.at("reduce-scatter")));
  // Four ranks in all: by 2 before the reduce-scatter, by 2 after the all-reduce.
  REQUIRE(w.at("divide", 1) > w.at("all-reduce"));
  REQUIRE(w.stream(w.at("divide", 1)) == "all-reduce");
}

TEST_CASE("no reduction waits for one before it: compute never stalls (F26)", "[plan]") {
  const Written w(fsdp1(), toy::layers_only(3));
  for (const std::size_t backward : find(w.program(), "backward")) {
    for (const std::size_t reduction : find(w.program(), "reduce-scatter")) {
      REQUIRE_FALSE(waits_for(w.op(backward), reduction));
    }
  }
}

TEST_CASE("accumulation: reduced every micro-step into the shard, or kept whole under no_sync (F30, F31)", "[plan]") {
  Scenario scenario = fsdp1();
  scenario.batch.gradient_accumulation = 3;
  const Written reduced(scenario, toy::layers_only(1));
  REQUIRE(reduced.count("reduce-scatter") == 3);
  REQUIRE(reduced.stream(reduced.at("accumulate")) == "post-backward");
  REQUIRE(std::get<Segment>(reduced.op(reduced.at("accumulate")).work).memory_bytes == 3 * 4 * 128);
  scenario.parallel.sync_each_micro_step = false;
  const Written kept(scenario, toy::layers_only(1));
  REQUIRE(kept.count("reduce-scatter") == 1);
  // Both later micro-steps add the whole 16-bit gradient, where it was made.
  REQUIRE(kept.count("accumulate") == 2);
  REQUIRE(kept.stream(kept.at("accumulate")) == "compute");
  REQUIRE(std::get<Segment>(kept.op(kept.at("accumulate")).work).memory_bytes == 3 * 2 * 256);
}

TEST_CASE("SHARD_GRAD_OP gathers once a step, and under no_sync once for all its micro-steps (F17, F30)", "[plan]") {
  Scenario scenario = fsdp1();
  scenario.parallel.sharding = Sharding::grad_op;
  REQUIRE(Written(scenario, toy::transformer(3)).count("all-gather") == 4);
  REQUIRE(Written(fsdp1(), toy::transformer(3)).count("all-gather") == 7);
  scenario.batch.gradient_accumulation = 4;
  scenario.parallel.sync_each_micro_step = false;
  REQUIRE(Written(scenario, toy::transformer(3)).count("all-gather") == 4);
  scenario.parallel.sync_each_micro_step = true;
  REQUIRE(Written(scenario, toy::transformer(3)).count("all-gather") == 16);
}

TEST_CASE("frozen beside trainable in one unit: all of it is reduced (F42)", "[plan]") {
  const Written w(fsdp1(), adapted(2, 2.0));
  REQUIRE(w.count("reduce-scatter") == 2);  // not the frozen root
  REQUIRE(w.bytes(w.at("reduce-scatter")) == Bytes((16 * 16 + 2 * 4 * 16) * 2));
  REQUIRE(w.count("cast shard") == 0);  // one format, no master copy (F2)
}

TEST_CASE("PEFT's policy: every adapter matrix is a unit, the base is frozen and only freed (F40, F43)", "[plan]") {
  const Written w(fsdp1(peft()), adapted(3, 4.0));
  // Forward 1 + 3 x 3, backward 3 x 3: the root stays.
  REQUIRE(w.count("all-gather") == 1 + 9 + 9);
  REQUIRE(w.count("reduce-scatter") == 6);
  REQUIRE(w.bytes(w.at("reduce-scatter")) == Bytes(4 * 16 * 4));
  // B's gradient is reduced before A's kernels run: the CPU issues lora_A's backward behind it.
  REQUIRE(w.at("reduce-scatter", 0) < w.at("reduce-scatter", 1));
  const std::size_t base = w.at("all-gather", 1);
  REQUIRE(w.bytes(base) == Bytes(16 * 16 * 2));
}

TEST_CASE("a frozen unit whose inputs need no gradient is freed at the very end (F41)", "[plan]") {
  Workload workload = adapted(1, 4.0);
  workload.kinds[1].inputs_need_gradient = false;
  const Written w(fsdp1(peft()), workload);
  const auto frees = [&](std::size_t position, Bytes size) {
    const std::vector<MemoryEffect>& effects = w.op(position).effects;
    return std::any_of(effects.begin(), effects.end(), [&](const MemoryEffect& effect) {
      return effect.category == MemoryCategory::gathered && effect.delta == Bytes{} - size;
    });
  };
  // The last op on compute before the optimizer, and the root with it.
  REQUIRE(frees(w.at("backward", w.count("backward") - 1), Bytes(16 * 16 * 2)));
  REQUIRE(frees(w.at("backward", w.count("backward") - 1), Bytes((64 * 16 + 16 + 64 * 16) * 2)));
}

TEST_CASE("4-bit weights are gathered packed, their scales stay on every rank (F44)", "[plan]") {
  Workload workload = toy::layers_only(1);
  Parameter quantised = toy::parameter("q.w", 64, 64);
  quantised.bytes = 0.516;
  quantised.trainable = false;
  const std::vector<Parameter> parameters = {quantised, toy::parameter("norm", 64)};
  std::vector<Parameter> frozen = parameters;
  frozen[1].trainable = false;
  const FlatSizes sizes = flat_sizes(workload, frozen, 2, FlatLayout::aligned);
  // 64 x 64 / 2 bytes in containers of 2 bytes, then 64 elements: 1,088 elements, 544 a rank.
  REQUIRE(sizes.gathered == Bytes(2 * 1088));
  REQUIRE(sizes.weight_shard == Bytes(2 * 544 + 66));  // 0.016 x 4,096 = 65.5 bytes of scales
  REQUIRE(sizes.reduced == Bytes{});
}

TEST_CASE("checkpointing recomputes inside the unit with one gather (F50)", "[plan]") {
  Workload workload = toy::layers_only(2);
  workload.kinds[1].recompute = {toy::kernel("again", toy::ms(9))};
  REQUIRE(Written(fsdp1(), workload).count("all-gather") == 4);
  // Adapters' units lie inside the checkpointed layer: gathered for the recomputation, freed, and gathered again.
  Workload nested = adapted(2, 4.0);
  nested.kinds[1].recompute = {nested.kinds[1].forward.begin(), nested.kinds[1].forward.begin() + 2};
  const Written w(fsdp1(peft()), nested);
  REQUIRE(w.count("all-gather") == 1 + 6 + 6 + 2);  // A again in each layer; B is not recomputed
}

TEST_CASE("the limiter can be turned off: the CPU then never waits (F12)", "[plan]") {
  Fsdp1Settings free_running;
  free_running.limit_all_gathers = false;
  REQUIRE(Written(fsdp1(), toy::layers_only(4)).count("host wait") > 0);
  REQUIRE(Written(fsdp1(free_running), toy::layers_only(4)).count("host wait") == 0);
}

TEST_CASE("prefetch forward uses the order of the first step (F14)", "[plan]") {
  Fsdp1Settings settings;
  settings.forward_prefetch = true;
  Scenario scenario = fsdp1(settings);
  const auto second_gather_before_forward = [&] {
    const Written w(scenario, toy::layers_only(3));
    std::vector<std::size_t> gathers = find(w.program(), "all-gather");
    std::erase_if(gathers, [&](std::size_t op) { return op < w.program().first_measured; });
    std::vector<std::size_t> forwards = find(w.program(), "forward");
    std::erase_if(forwards, [&](std::size_t op) { return op < w.program().first_measured; });
    return gathers.at(1) < forwards.at(0);
  };
  REQUIRE_FALSE(second_gather_before_forward());
  scenario.assumptions.iteration = 2;
  REQUIRE(second_gather_before_forward());
}
