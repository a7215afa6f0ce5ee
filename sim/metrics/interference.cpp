#include "metrics/interference.hpp"

#include "engine/simulate.hpp"
#include "plan/builder.hpp"
#include "plan/contention.hpp"

#include <utility>

namespace takt {
namespace {

/// A collective of one rank that outlasts the kernel: it holds its CTAs and moves its bytes at a steady rate.
LoweredCollective steady(const Kernel& kernel, const Interference& beside, ResourceId memory) {
  constexpr double times_longer = 1000.0;
  LoweredCollective collective;
  collective.ctas = beside.ctas;
  const double bytes_a_second = beside.traffic.count();
  Activity activity;
  activity.work = to_seconds(kernel.time) * times_longer;
  activity.cap = 1.0;  // its work is seconds
  if (bytes_a_second > 0.0) {
    activity.weight = 1.0 / bytes_a_second;  // so that it shares by its bytes, as a flow does
    activity.demands = {{memory, bytes_a_second}};
  }
  collective.activities = {std::move(activity)};
  return collective;
}

}  // namespace

Result<double> kept_throughput(const Kernel& kernel, const CardSpec& card, const Interference& beside,
                               const Assumptions& assumptions) {
  ProgramBuilder builder({});
  const StreamId communication = builder.stream(StreamKind::all_gather, "beside");
  const StreamId compute = builder.stream(StreamKind::compute, "compute");
  const CommSlot slot = builder.comm("beside");
  builder.collective(communication, slot, {CollectiveKind::all_gather, Bytes(1)}, "beside");
  builder.kernel(compute, kernel, "kernel");

  const ResourceTable resources = {
      {"memory", ResourceKind::card_memory, card.memory_bandwidth.count() * card.efficiency.memory}};
  constexpr ResourceId memory{0};
  Plan plan;
  plan.programs.push_back(std::move(builder).finish());
  RankBinding rank;
  rank.name = card.name;
  rank.memory = memory;
  rank.sm_count = card.sm_count;
  rank.communicators = {CommunicatorId{0}};
  plan.ranks.push_back(std::move(rank));
  plan.communicators.push_back({"beside", slot, {RankId{0}}, {CollectiveId{0}}});
  plan.collectives.push_back(steady(kernel, beside, memory));
  plan.sm_contention = sm_contention(assumptions);

  const Result<Timeline> timeline = simulate(plan, resources, {});
  if (!timeline) return timeline.diagnostics();
  const OpRecord& record = timeline->ops[0][1];
  return to_seconds(kernel.time) / to_seconds(record.end - record.start);
}

}  // namespace takt
