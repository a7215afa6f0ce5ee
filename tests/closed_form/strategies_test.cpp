// Whole steps of the strategies against sums worked out by hand.
//
// The programs are those that Takt runs; what a collective takes is given by its kind; copies, launches and the
// optimizer take no time. Times in milliseconds: forward f, backward b of a layer, all-gather g, reduce-scatter r,
// all-reduce a.
#include "../engine/plans.hpp"
#include "../plan/toy.hpp"
#include "catch.hpp"
#include "plan/rank_group.hpp"

#include <functional>
#include <string>

using namespace takt;
using takt::test::ms;

namespace {

struct Times {
  double forward = 0, backward = 0, gather = 0, scatter = 0, reduce = 0;
  double head = 0, embedding = 0;  // backward of the root's blocks
  double root_scatter = 0;         // its reduce-scatter; its all-gather takes no time
};

constexpr std::int64_t root_bytes = (64 * 16 + 16 + 64 * 16) * 2;

Workload layers_of(const Times& times, std::size_t layers) {
  Workload workload = toy::layers_only(layers);
  workload.kinds[1].forward = {toy::kernel("f", ms(times.forward))};
  workload.kinds[1].backward = {toy::kernel("b", ms(times.backward))};
  workload.optimizer_traffic = 0.0;
  return workload;
}

/// With the root's embedding and head, which take time backward alone.
Workload model_of(const Times& times, std::size_t layers) {
  Workload workload = layers_of(times, layers);
  workload.blocks.insert(workload.blocks.begin(), 0);
  workload.blocks.push_back(2);
  workload.kinds[0].forward = workload.kinds[2].forward = {toy::kernel("f", Duration{})};
  workload.kinds[0].backward = {toy::kernel("b", ms(times.embedding))};
  workload.kinds[2].backward = {toy::kernel("b", ms(times.head))};
  return workload;
}

Duration time_of(const CollectiveCall& call, const Times& times) {
  const bool of_root = call.bytes == Bytes(root_bytes);
  switch (call.kind) {
    case CollectiveKind::all_gather:
      return of_root ? Duration{} : ms(times.gather);
    case CollectiveKind::reduce_scatter:
      return ms(of_root ? times.root_scatter : times.scatter);
    case CollectiveKind::all_reduce:
      return ms(times.reduce);
    case CollectiveKind::broadcast:
      break;
  }
  return {};
}

struct Played {
  Program program;
  Timeline timeline;

  double end_ms() const { return to_seconds(timeline.end - timeline.begin) * 1e3; }
  /// When the nth op with this label that is measured starts or ends, in ms.
  const OpRecord& record(const std::string& label, std::size_t which) const {
    for (std::size_t op = program.first_measured; op < program.ops.size(); ++op) {
      if (toy::label(program, program.ops[op]) == label && which-- == 0) return timeline.ops[0][op];
    }
    throw std::runtime_error("no op " + label);
  }
};

Played play(WrittenStep step, RankLayout layout, const Times& times) {
  Plan plan;
  plan.sm_contention.enabled = false;
  ResourceTable resources;
  for (std::int64_t rank = 0; rank < layout.shard_ranks * layout.replicas; ++rank) {
    RankBinding& binding = plan.ranks.emplace_back();
    binding.memory = id_at<ResourceId>(resources.size());
    resources.push_back({"memory", ResourceKind::card_memory, 1e18});
  }
  for (std::size_t slot = 0; slot < step.comm_groups.size(); ++slot) {
    std::vector<CollectiveId> calls;
    for (const CollectiveCall& call : step.program.comms[slot].calls) {
      calls.push_back(id_at<CollectiveId>(plan.collectives.size()));
      plan.collectives.emplace_back().fixed = time_of(call, times);
    }
    const bool shard = step.comm_groups[slot] == RankGroup::shard;
    for (const auto& members : shard ? shard_groups(layout) : replicate_groups(layout)) {
      plan.communicators.push_back({"comm", id_at<CommSlot>(slot), members, calls});
      for (const RankId rank : members) {
        plan.ranks[index(rank)].communicators.push_back(id_at<CommunicatorId>(plan.communicators.size() - 1));
      }
    }
  }
  plan.programs.push_back(step.program);
  Result<Timeline> timeline = simulate(plan, resources);
  REQUIRE(timeline.has_value());
  return {std::move(step.program), std::move(*timeline)};
}

using Writer = WrittenStep (*)(const StepInput&);

Played run(Writer write, const ParallelSettings& parallel, const Workload& workload, RankLayout layout,
           const Times& times, std::int64_t iteration = 1) {
  Scenario scenario;
  scenario.parallel = parallel;
  Assumptions& assumptions = scenario.assumptions;
  assumptions.kernel_launch = assumptions.eager_op = assumptions.collective_launch = Duration{};
  assumptions.fsdp1_hook = assumptions.fsdp2_hook = assumptions.ddp_hook = Duration{};
  assumptions.iteration = iteration;
  scenario.finetune.loss_read_back = LossReadBack::none;
  const KernelPricer pricer(toy::card(), ComputeBasis::free);  // copies take no time
  return play(write({scenario, workload, pricer, layout.shard_ranks, layout.replicas}), layout, times);
}

ParallelSettings sharded(Sharding sharding, BackwardPrefetch prefetch = BackwardPrefetch::pre) {
  ParallelSettings parallel;
  parallel.sharding = sharding;
  parallel.fsdp1.backward_prefetch = prefetch;
  return parallel;
}

}  // namespace

TEST_CASE("a slow reduce-scatter stalls FSDP2's compute, not FSDP1's (S10, F26)", "[closed_form]") {
  // Parameters stay gathered. Head h, three layers b = 4, r = 6, then the embedding e = 9; the root's r_R = 1.
  const Times times{.backward = 4, .scatter = 6, .head = 2, .embedding = 9, .root_scatter = 1};
  const Workload workload = model_of(times, 3);
  // FSDP1: backward 2 + 3 * 4 + 9 = 23 without a stop; reduce-scatters from 6 on: 12, 18, 24; the root's 24-25.
  CHECK(run(write_fsdp1_step, sharded(Sharding::grad_op), workload, {2, 1}, times).end_ms() == Approx(25));
  // FSDP2: layer 1 ends at 10 and waits for RS2, 12; layer 0 12-16 waits for RS1, 18; embedding 18-27; root 27-28.
  CHECK(run(write_fsdp2_step, sharded(Sharding::grad_op), workload, {2, 1}, times).end_ms() == Approx(28));
  // Where the reduce-scatter is faster than backward both take 2 + 12 + 9 + 1.
  const Times fast{.backward = 4, .scatter = 3, .head = 2, .embedding = 9, .root_scatter = 1};
  CHECK(run(write_fsdp1_step, sharded(Sharding::grad_op), model_of(fast, 3), {2, 1}, fast).end_ms() == Approx(24));
  CHECK(run(write_fsdp2_step, sharded(Sharding::grad_op), model_of(fast, 3), {2, 1}, fast).end_ms() == Approx(24));
}

TEST_CASE("FSDP1: BACKWARD_PRE hides a layer's gather, none exposes it (F22 to F24)", "[closed_form]") {
  // f = 4, g = 3, b = 4, r = 2; three layers, first step. Forward: G0 0-3, G1 3-6, F0 3-7, F1 7-11; G2 when the CPU has
  // seen F0 end, 7-10; F2 11-15. G2 of the backward when it has seen F1 end: 11-14.
  const Times times{.forward = 4, .backward = 4, .gather = 3, .scatter = 2};
  const Workload workload = layers_of(times, 3);
  const auto end = [&](BackwardPrefetch prefetch) {
    return run(write_fsdp1_step, sharded(Sharding::full, prefetch), workload, {2, 1}, times).end_ms();
  };
  // PRE: G1 14-17, B2 15-19, RS2 19-21, G0 issued at pre-backward of layer 1, so behind RS2: 21-24. B1 19-23,
  // RS1 24-26, B0 24-28, RS0 28-30.
  CHECK(end(BackwardPrefetch::pre) == Approx(30));
  // None: each layer pays g, b and r from 15 on, but for its first gather: B2 15-19, RS2 21, G1 24, B1 28, RS1 30,
  // G0 33, B0 37, RS0 39.
  CHECK(end(BackwardPrefetch::none) == Approx(39));
  // POST: G1 stands before RS2 in the queue, but the CPU has to see F2 end, 15: G1 15-18, B2 15-19, RS2 19-21, G0 when
  // it has seen B2 end, behind RS2: 21-24. From there as PRE.
  CHECK(end(BackwardPrefetch::post) == Approx(30));
}

TEST_CASE(
    "FSDP1: the limiter lets a gather wait for the second layer before it, in steady state for the third (F12, F13, "
    "X1)",
    "[closed_form]") {
  // f = 10 is far longer than g = 1, so what holds a gather is the CPU.
  const Times times{.forward = 10, .backward = 20, .gather = 1, .scatter = 1};
  const Workload workload = layers_of(times, 8);
  const auto gather_starts_after = [&](std::int64_t iteration, std::size_t layer, std::size_t freed) {
    const Played played = run(write_fsdp1_step, sharded(Sharding::full), workload, {2, 1}, times, iteration);
    return played.record("all-gather", layer).start == played.record("forward", freed).end;
  };
  for (std::size_t layer = 3; layer < 8; ++layer) {
    CAPTURE(layer);
    CHECK(gather_starts_after(1, layer, layer - 2));
    CHECK(gather_starts_after(2, layer, layer - 3));
    CHECK(gather_starts_after(3, layer, layer - 3));
  }
}

TEST_CASE("DDP: what follows the last gradient is exposed (D7, D10)", "[closed_form]") {
  ParallelSettings parallel;
  parallel.bucket_size = Bytes(1);  // a bucket a layer
  parallel.first_bucket_small = false;
  // a <= b: 3 f + 3 b + a.
  const Times hidden{.forward = 2, .backward = 5, .reduce = 4};
  CHECK(run(write_ddp_step, parallel, layers_of(hidden, 3), {1, 2}, hidden, 0).end_ms() == Approx(6 + 15 + 4));
  // a > b: the first bucket is there after 3 f + b, then three all-reduces in a row.
  const Times slow{.forward = 2, .backward = 5, .reduce = 9};
  CHECK(run(write_ddp_step, parallel, layers_of(slow, 3), {1, 2}, slow, 0).end_ms() == Approx(6 + 5 + 27));
  // In the first step one all-reduce carries all, here in the time of one: nothing hides (D2).
  CHECK(run(write_ddp_step, parallel, layers_of(slow, 3), {1, 2}, slow, 1).end_ms() == Approx(6 + 15 + 9));
}

TEST_CASE("hybrid sharding: the all-reduce hides behind the next layer's backward, or holds the step (F28, S13, X4)",
          "[closed_form]") {
  // Parameters stay gathered, so backward begins at 3 f. Hidden: 3 f + 3 b + r + a. A slow one, r <= b: the first
  // begins at 3 f + b + r, then three in a row.
  const Times hidden{.forward = 1, .backward = 6, .scatter = 2, .reduce = 5};
  const Times slow{.forward = 1, .backward = 6, .scatter = 2, .reduce = 8};
  for (const Writer write : {write_fsdp1_step, write_fsdp2_step}) {
    const ParallelSettings parallel = sharded(Sharding::hybrid_grad_op);
    CHECK(run(write, parallel, layers_of(hidden, 3), {2, 2}, hidden).end_ms() == Approx(3 + 18 + 2 + 5));
    CHECK(run(write, parallel, layers_of(slow, 3), {2, 2}, slow).end_ms() == Approx(3 + 6 + 2 + 24));
  }
}

TEST_CASE("a steady step begins where the step before it ended (F13)", "[closed_form]") {
  const Times times{.forward = 4, .backward = 4, .gather = 3, .scatter = 2};
  const Workload workload = layers_of(times, 8);
  const auto end = [&](std::int64_t iteration) {
    return run(write_fsdp1_step, sharded(Sharding::full), workload, {2, 1}, times, iteration).end_ms();
  };
  CHECK(end(3) == Approx(end(2)));
  CHECK(end(0) == Approx(end(3)));
}
