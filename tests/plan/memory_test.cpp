// Memory that a step holds, from the effects of its ops (semantics section 8, M1 to M5, M11; D15, S15).
#include <map>
#include <string>

#include "catch.hpp"
#include "engine/simulate.hpp"
#include "metrics/memory_use.hpp"
#include "metrics/step_metrics.hpp"
#include "plan/fsdp_unit.hpp"
#include "toy.hpp"

using namespace takt;

namespace {

using Balance = std::map<MemoryCategory, std::int64_t>;

/// What is left after all ops.
Balance left_over(const Program& program) {
  Balance sum;
  for (const Op& op : program.ops) {
    for (const MemoryEffect& effect : op.effects) sum[effect.category] += effect.delta.count();
  }
  for (auto it = sum.begin(); it != sum.end();) it = it->second == 0 ? sum.erase(it) : std::next(it);
  return sum;
}

/// Two ranks on two memories; every collective takes `collective` and nothing else.
Plan two_ranks(WrittenStep step, Duration collective) {
  Plan plan;
  LoweredCollective lowered;
  lowered.fixed = collective;
  plan.collectives.push_back(lowered);
  plan.programs.push_back(std::move(step.program));
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    RankBinding binding;
    binding.memory = ResourceId{rank};
    plan.ranks.push_back(binding);
  }
  for (std::size_t slot = 0; slot < plan.programs[0].comms.size(); ++slot) {
    const std::vector<CollectiveId> calls(plan.programs[0].comms[slot].calls.size(), CollectiveId{0});
    plan.communicators.push_back({"both", id_at<CommSlot>(slot), {RankId{0}, RankId{1}}, calls});
    for (RankBinding& rank : plan.ranks) rank.communicators.push_back(id_at<CommunicatorId>(slot));
  }
  return plan;
}

std::int64_t peak(const Plan& plan) {
  const ResourceTable memories = {{"memory 0", ResourceKind::card_memory, 1e9},
                                  {"memory 1", ResourceKind::card_memory, 1e9}};
  const Result<Timeline> timeline = simulate(plan, memories);
  REQUIRE(timeline);
  std::int64_t most = 0;
  for (const MemoryPoint& point : memory_timeline(plan, *timeline, RankId{0})) {
    most = std::max(most, point.allocated.count());
  }
  return most;
}

Workload with_activations(Workload workload) {
  for (BlockKind& kind : workload.kinds) kind.memory = {Bytes(1000), Bytes(500), Bytes(70), Bytes(30)};
  return workload;
}

/// States that outlive the step. transformer(3): 2832 elements of 4 bytes of weights, 8 of optimizer states.
Balance states(std::int64_t elements) {
  return {{MemoryCategory::weights, 4 * elements}, {MemoryCategory::optimizer, 8 * elements}};
}

Scenario accumulating(bool sync) {
  Scenario scenario;
  scenario.batch.gradient_accumulation = 3;
  scenario.parallel.sync_each_micro_step = sync;
  return scenario;
}

}  // namespace

TEST_CASE("after the step only weights, optimizer states and buckets are left", "[plan]") {
  const KernelPricer pricer = toy::pricer();
  Workload workload = with_activations(toy::transformer(3));
  for (const bool sync : {true, false}) {
    const Scenario scenario = accumulating(sync);
    REQUIRE(left_over(write_single_card_step({scenario, workload, pricer, 1, 1}).program) == states(2832));
    Balance with_buckets = states(2832);
    with_buckets[MemoryCategory::buffers] = 2 * 2832;   // D15
    REQUIRE(left_over(write_ddp_step({scenario, workload, pricer, 1, 2}).program) == with_buckets);
    for (const double reduce_bytes : {2.0, 4.0}) {
      workload.reduce_bytes = reduce_bytes;
      REQUIRE(left_over(write_fsdp2_step({scenario, workload, pricer, 2, 1}).program) == states(2832 / 2));
      REQUIRE(left_over(write_fsdp2_step({scenario, workload, pricer, 2, 2}).program) == states(2832 / 2));
      REQUIRE(left_over(write_fsdp2_step({scenario, workload, pricer, 1, 2}).program) == states(2832));
      REQUIRE(left_over(write_fsdp2_step({scenario, workload, pricer, 1, 1}).program) == states(2832));
    }
  }
}

TEST_CASE("after an FSDP1 step only weights and optimizer states are left, whatever it shards", "[plan]") {
  const KernelPricer pricer = toy::pricer();
  Workload workload = with_activations(toy::transformer(3));
  Scenario scenario = accumulating(true);
  for (const bool sync : {true, false}) {
    scenario.parallel.sync_each_micro_step = sync;
    for (const double reduce_bytes : {2.0, 4.0}) {
      workload.reduce_bytes = reduce_bytes;
      for (const Sharding sharding : {Sharding::full, Sharding::grad_op, Sharding::hybrid_grad_op}) {
        scenario.parallel.sharding = sharding;
        REQUIRE(left_over(write_fsdp1_step({scenario, workload, pricer, 2, 1}).program) == states(2832 / 2));
        REQUIRE(left_over(write_fsdp1_step({scenario, workload, pricer, 2, 2}).program) == states(2832 / 2));
        REQUIRE(left_over(write_fsdp1_step({scenario, workload, pricer, 1, 2}).program) == states(2832));
        REQUIRE(left_over(write_fsdp1_step({scenario, workload, pricer, 1, 1}).program) == states(2832));
      }
    }
  }
}

TEST_CASE("FSDP2 with an embedding apart leaves nothing behind, used in backward or not, frozen or not", "[plan]") {
  const KernelPricer pricer = toy::pricer();
  Scenario scenario = accumulating(true);
  scenario.parallel.fsdp2.embedding_unit = true;
  for (const bool waits : {true, false}) {
    scenario.parallel.fsdp2.wait_each_micro_step = waits;
    for (const bool unshards : {true, false}) {
      scenario.parallel.fsdp2.unshard_in_backward = unshards;
      for (const std::int64_t group : {0, 2, 4}) {
        scenario.parallel.fsdp2.reshard_group = group;
        Workload workload = with_activations(toy::transformer(3));
        REQUIRE(left_over(write_fsdp2_step({scenario, workload, pricer, 4, 1}).program) == states(2832 / 4));
        workload.kinds[0].has_backward = false;
        workload.kinds[0].parameters[0].trainable = false;  // 64 x 16 elements of 2 bytes, no optimizer
        const Balance frozen = {{MemoryCategory::weights, (4 * (2832 - 1024) + 2 * 1024) / 4},
                                {MemoryCategory::optimizer, 8 * (2832 - 1024) / 4}};
        REQUIRE(left_over(write_fsdp2_step({scenario, workload, pricer, 4, 1}).program) == frozen);
      }
    }
  }
}

TEST_CASE("one card: the peak is at the start of the backward of the last block", "[plan]") {
  // Kept activations of five blocks 5000, what the head's backward adds 500 + 30; gradients of the head: 64 x 16 + 16
  // elements of 4 bytes. Later blocks give back 1000 and add at most 4096 + ... bytes of gradients: the embedding's
  // backward holds gradients of all 2832 elements and 1000 + 530.
  const KernelPricer pricer = toy::pricer();
  const Workload workload = with_activations(toy::transformer(3));
  const Scenario scenario;
  Plan plan = two_ranks(write_single_card_step({scenario, workload, pricer, 1, 1}), {});
  const std::int64_t head = 5000 + 530 + 4 * (64 * 16 + 16);
  const std::int64_t embedding = 1000 + 530 + 4 * 2832;
  REQUIRE(peak(plan) == 12 * 2832 + std::max(head, embedding));
}

TEST_CASE("FSDP1 forward holds the unit that computes and the one gathered ahead (M1, with no step before it)",
          "[plan]") {
  // Layers of 512 bytes, frozen: no cast, no low-precision shard. The limiter has the CPU wait for the unit before last
  // to be freed before it issues a gather; gathers of 1 ms beside 10 ms of compute fill that room.
  Workload workload = toy::layers_only(6);
  workload.kinds[1].parameters[0].trainable = false;
  workload.kinds[1].has_backward = false;
  const KernelPricer pricer = toy::pricer();
  const Scenario scenario;
  REQUIRE(peak(two_ranks(write_fsdp1_step({scenario, workload, pricer, 2, 1}), toy::ms(1))) == 6 * 256 + 2 * 512);
}

TEST_CASE("hooks on frozen FSDP1 units hold their inputs and the gradients of these to the end of backward (F40, M1)",
          "[plan]") {
  // Six layers that keep 1000 and whose input takes 700. Three units are gathered in backward while there are as many
  // (M1), last when layer 2 runs. Held then: the inputs of layers 5 to 3 and the gradients of two of these (what comes
  // into layer 5 from above is no unit's input), beside 3 x 1000 kept. Without hooks layer 5 is fullest: 6 x 1000.
  Workload workload = with_activations(toy::layers_only(6));
  workload.kinds[1].parameters[0].trainable = false;
  const KernelPricer pricer = toy::pricer();
  const Scenario scenario;
  const auto most = [&](Bytes input) {
    workload.kinds[1].memory.input = input;
    return peak(two_ranks(write_fsdp1_step({scenario, workload, pricer, 2, 1}), toy::ms(1)));
  };
  CHECK(most(Bytes(700)) - most(Bytes(0)) == 3 * 1000 + 5 * 700 - 6 * 1000);
  const Balance frozen = {{MemoryCategory::weights, 6 * 256}};
  CHECK(left_over(write_fsdp1_step({scenario, workload, pricer, 2, 1}).program) == frozen);
}

TEST_CASE("where activations weigh most, the fullest phase is backward's start; where states do, the optimizer (M11)",
          "[plan]") {
  const KernelPricer pricer = toy::pricer();
  Workload workload = with_activations(toy::transformer(3));
  const Scenario scenario;
  const ResourceTable memories = {{"memory 0", ResourceKind::card_memory, 1e9},
                                  {"memory 1", ResourceKind::card_memory, 1e9}};
  const auto phases = [&] {
    const Plan plan = two_ranks(write_single_card_step({scenario, workload, pricer, 1, 1}), {});
    const Result<Timeline> timeline = simulate(plan, memories);
    REQUIRE(timeline);
    std::map<Phase, std::int64_t> peaks;
    for (const PeakOfPhase& peak : peaks_of_phases(plan, *timeline, RankId{0})) {
      peaks[peak.phase] = peak.state.allocated.count();
    }
    return peaks;
  };
  const std::int64_t states = 12 * 2832;
  // Forward ends with five blocks' 1000 and the last one's 70; the optimizer finds all gradients, 4 bytes each.
  std::map<Phase, std::int64_t> peaks = phases();
  CHECK(peaks.at(Phase::forward) == states + 5000 + 70);
  CHECK(peaks.at(Phase::optimizer) == states + 4 * 2832);
  CHECK(peaks.at(Phase::backward) > peaks.at(Phase::optimizer));
  // A temporary of the optimizer's makes it the fullest.
  workload.optimizer_temporary = 4.0;
  peaks = phases();
  CHECK(peaks.at(Phase::optimizer) == states + 8 * 2832);
  CHECK(peaks.at(Phase::optimizer) > peaks.at(Phase::backward));
}

TEST_CASE("FSDP2 forward holds the unsharded unit and two gather buffers (M2)", "[plan]") {
  // Layers of G = 512 bytes; 10 ms of compute, gathers of 1 ms run ahead as far as they may. Nothing trains.
  Workload workload = toy::layers_only(6);
  workload.kinds[1].parameters[0].trainable = false;
  workload.kinds[1].has_backward = false;
  const KernelPricer pricer = toy::pricer();
  const Scenario scenario;
  const std::int64_t gathered = 512, shards = 6 * 256;
  REQUIRE(peak(two_ranks(write_fsdp2_step({scenario, workload, pricer, 2, 1}), toy::ms(1))) == shards + 3 * gathered);
  // A gather slower than compute finds the buffer before it empty: its own and one unsharded unit, copied out and free
  // in turn. During copy-out(i) buffer i, unit i and buffer i+1 exist.
  REQUIRE(peak(two_ranks(write_fsdp2_step({scenario, workload, pricer, 2, 1}), toy::ms(50))) == shards + 3 * gathered);
}

TEST_CASE("FSDP2 keeps the whole model unsharded without reshard after forward (M3)", "[plan]") {
  Workload workload = toy::layers_only(6);
  workload.kinds[1].parameters[0].trainable = false;
  workload.kinds[1].has_backward = false;
  const KernelPricer pricer = toy::pricer();
  Scenario scenario;
  scenario.parallel.reshard_after_forward = false;
  // At copy-out of the last layer: six units and its own buffer.
  REQUIRE(peak(two_ranks(write_fsdp2_step({scenario, workload, pricer, 2, 1}), toy::ms(1))) == 6 * 256 + 7 * 512);
}

TEST_CASE("FSDP2 backward: unit, buffer ahead, gradients, reduce-scatter input and shards (M2)", "[plan]") {
  // Layers of 256 elements: gathered 512 bytes, gradients 512, reduce-scatter input 512, sharded gradient 4 x 128, 512
  // too. Copies take about 1 us against 20 ms of backward. Sharded gradients pile up, so the fullest moment is late.
  const Workload workload = toy::layers_only(6);
  const KernelPricer pricer = toy::pricer();
  const Scenario scenario;
  const std::int64_t states = 12 * 6 * 128;
  // Backward of layer 0, first ms: unit 0, gradients 0, input of reduce-scatter 1 and the shards of 1 to 5. A layer
  // earlier there is a gather buffer instead of one more shard: as much.
  const std::int64_t layer_0 = 512 + 512 + 512 + 5 * 512;
  REQUIRE(peak(two_ranks(write_fsdp2_step({scenario, workload, pricer, 2, 1}), toy::ms(1))) == states + layer_0);
}

TEST_CASE("no_sync keeps all gradients unsharded, as they will be reduced (S15, M4)", "[plan]") {
  Workload workload = toy::layers_only(6);
  workload.reduce_bytes = 4.0;
  const KernelPricer pricer = toy::pricer();
  Scenario scenario = accumulating(false);
  scenario.batch.gradient_accumulation = 2;
  const std::int64_t states = 12 * 6 * 128;
  // Kept: 6 x 256 elements of 4 bytes. In the second backward, layer 5: unit 512, buffer ahead 512, new gradients 512.
  // Its reduce-scatter then swaps 1024 kept for an input of 1024 and adds a shard of 512: backward of layer 4 has
  // unit, buffer, gradients and input: kept 5 x 1024 + input 1024 + shard 512 + 1536.
  const std::int64_t layer_4 = 5 * 1024 + 1024 + 512 + 512 + 512 + 512;
  REQUIRE(peak(two_ranks(write_fsdp2_step({scenario, workload, pricer, 2, 1}), toy::ms(1))) == states + layer_4);
}
