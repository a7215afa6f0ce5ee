// A step of two ranks, written by hand (times in us):
//
//   stream gather   |.. AG0 2-12 | AG1 12-22 |              RS 50-60 |
//   stream compute  |            | forward 12-30 | backward 30-50 |  | optimizer 60-65 |
//
// Rank 1's CPU is late with AG0: it issues it at 2, so rank 0 waits from 0 to 2.
#pragma once

#include "engine/timeline.hpp"
#include "plan/plan.hpp"
#include "topology/resource.hpp"

namespace takt::hand_made {

inline Duration us(std::int64_t count) {
  return std::chrono::microseconds(count);
}

enum : std::uint32_t { gather0, forward, gather1, backward, scatter, optimizer };

inline ResourceTable resources() {
  return {{"gpu0 -> gpu1", ResourceKind::link, 1e9}, {"gpu0 memory", ResourceKind::card_memory, 1e12}};
}

inline Plan plan() {
  Program program;
  program.streams = {{StreamKind::compute, "compute"}, {StreamKind::all_gather, "gather"}};
  program.labels = {"all-gather", "forward", "backward", "reduce-scatter", "optimizer"};
  program.comms = {
      {"shard", {{CollectiveKind::all_gather, Bytes(1000)}, {CollectiveKind::reduce_scatter, Bytes(800)}}}};
  program.kernels = {{KernelKind::gemm, us(6), Bytes(), Flops(), "q_proj"},
                     {KernelKind::gemm, us(12), Bytes(), Flops(), "down_proj"},
                     {KernelKind::gemm, us(15), Bytes(), Flops(), "dgrad"},
                     {KernelKind::optimizer, us(5), Bytes(), Flops(), "adamw"}};
  program.kernel_issue.assign(program.kernels.size(), Duration{});
  const StreamId compute{0}, gather{1};
  const auto waits_for = [](std::uint32_t op) { return std::vector<OpId>{OpId(op)}; };
  const auto takes = [](MemoryCategory category, std::int64_t size, EffectTime when) {
    return MemoryEffect{when, category, Bytes(size)};
  };
  using enum MemoryCategory;
  program.ops = {
      {gather,
       Collective{CommSlot(0), 0},
       Phase::communication,
       0,
       0,
       {},
       {},
       {takes(weights, 500, EffectTime::issue), takes(gathered, 1000, EffectTime::start)}},
      {compute,
       Segment{0, 2, us(18), 0.0, {}},
       Phase::forward,
       0,
       1,
       {},
       waits_for(gather0),
       {takes(activations, 300, EffectTime::start), takes(gathered, -1000, EffectTime::end)}},
      {gather,
       Collective{CommSlot(0), 0},
       Phase::communication,
       1,
       0,
       {},
       {},
       {takes(gathered, 1000, EffectTime::start)}},
      {compute,
       Segment{2, 1, us(15), 0.0, {}},
       Phase::backward,
       1,
       2,
       {},
       waits_for(gather1),
       {takes(gradients, 1200, EffectTime::start), takes(activations, -300, EffectTime::end)}},
      {gather, Collective{CommSlot(0), 1}, Phase::communication, 1, 3, {}, waits_for(backward), {}},
      {compute, Segment{3, 1, us(5), 0.0, {}}, Phase::optimizer, no_unit, 4, {}, waits_for(scatter), {}},
  };
  Plan plan;
  plan.programs = {program};
  RankBinding rank;
  rank.name = "rank 0 (gpu0)";
  rank.communicators = {CommunicatorId(0)};
  plan.ranks = {rank, rank};
  plan.ranks[1].name = "rank 1 (gpu1)";
  plan.communicators = {{"shard", CommSlot(0), {RankId(0), RankId(1)}, {CollectiveId(0), CollectiveId(1)}}};
  LoweredCollective gathering, scattering;
  gathering.moved_per_rank = Bytes(500);
  gathering.explanation = "ring over 2 cards";
  scattering.moved_per_rank = Bytes(400);
  plan.collectives = {gathering, scattering};
  return plan;
}

inline Timeline timeline() {
  const RankId late{1};
  Timeline timeline;
  timeline.end = us(65);
  const std::vector<OpRecord> of_rank_0 = {{us(0), us(2), us(12), late},   {us(12), us(12), us(30), {}},
                                           {us(12), us(12), us(22), late}, {us(30), us(30), us(50), {}},
                                           {us(50), us(50), us(60), late}, {us(60), us(60), us(65), {}}};
  std::vector<OpRecord> of_rank_1 = of_rank_0;
  of_rank_1[gather0].ready = us(2);
  timeline.ops = {of_rank_0, of_rank_1};
  using Kind = StartReason::Kind;
  std::vector<StartReason> reasons = {{Kind::begin},       {Kind::op, gather0},  {Kind::op, gather0},
                                      {Kind::op, forward}, {Kind::op, backward}, {Kind::op, scatter}};
  timeline.reasons = {reasons, reasons};
  timeline.reasons[1][gather0] = {Kind::host};
  const ResourceId link{0};
  std::vector<Charge> charges = {{Cause::member, {}, us(2)},     {Cause::own_speed, {}, us(10)},  // gather0
                                 {Cause::own_speed, {}, us(18)},                                  // forward
                                 {Cause::own_speed, {}, us(10)},                                  // gather1
                                 {Cause::own_speed, {}, us(15)}, {Cause::sms, {}, us(5)},         // backward
                                 {Cause::latency, {}, us(2)},    {Cause::resource, link, us(8)},  // scatter
                                 {Cause::own_speed, {}, us(5)}};                                  // optimizer
  timeline.charges = {charges, charges};
  timeline.charges[1][0].time = us(0);
  timeline.charge_offsets = {{0, 2, 3, 4, 6, 8, 9}, {0, 2, 3, 4, 6, 8, 9}};
  timeline.resources = {{1400.0, us(30), 8e8}, {}};
  return timeline;
}

}  // namespace takt::hand_made
