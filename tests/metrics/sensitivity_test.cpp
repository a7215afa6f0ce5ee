// How a hand-solved step answers to more of each resource.
#include "metrics/sensitivity.hpp"

#include "catch.hpp"
#include "plan/builder.hpp"

using namespace takt;

namespace {

Duration ms(std::int64_t milliseconds) { return std::chrono::milliseconds(milliseconds); }

/// A kernel of 11 ms, then a collective of one rank: 2.2 ms fixed, then 11 ms on "gpu0 -> sw0".
struct Step {
  Plan plan;
  ResourceTable resources = {{"gpu0 memory", ResourceKind::card_memory, 1e12},
                             {"gpu0 -> sw0", ResourceKind::link, 1e9}};
};

Step step() {
  ProgramBuilder builder({});
  const StreamId compute = builder.stream(StreamKind::compute, "compute");
  const StreamId gather = builder.stream(StreamKind::all_gather, "all-gather");
  const CommSlot slot = builder.comm("shard");
  Kernel kernel;
  kernel.time = ms(11);
  builder.kernel(compute, kernel, "forward");
  builder.wait(gather, compute);
  builder.collective(gather, slot, {CollectiveKind::all_gather, Bytes(1)}, "all-gather");
  Step step;
  step.plan.programs.push_back(std::move(builder).finish());
  RankBinding rank;
  rank.communicators = {CommunicatorId{0}};
  step.plan.ranks.push_back(rank);
  step.plan.communicators.push_back({"shard", slot, {RankId{0}}, {CollectiveId{0}}});
  LoweredCollective collective;
  collective.fixed = std::chrono::microseconds(2200);
  Activity activity;
  activity.work = 11e6;   // bytes at 1 GB/s: 11 ms
  activity.demands = {{ResourceId{1}, 1.0}};
  collective.activities = {activity};
  step.plan.collectives.push_back(collective);
  return step;
}

}  // namespace

TEST_CASE("10 % more of a resource shortens what it holds by a eleventh", "[metrics]") {
  const Step s = step();
  const std::vector<Sensitivity> list = sensitivities(s.plan, s.resources, 1.1).value();
  REQUIRE(list.size() == 4);
  CHECK(list[0].resource == "compute");
  CHECK(to_seconds(list[0].step_time) == Approx(0.010 + 0.0022 + 0.011));
  CHECK(list[1].resource == "NCCL's own limits");
  CHECK(to_seconds(list[1].step_time) == Approx(0.0242));   // no cap holds
  CHECK(list[2].resource == "latency of collectives (shorter)");
  CHECK(to_seconds(list[2].step_time) == Approx(0.011 + 0.002 + 0.011));
  CHECK(list[3].resource == "gpu -> sw");
  CHECK(to_seconds(list[3].step_time) == Approx(0.011 + 0.0022 + 0.010));
}

TEST_CASE("resources of one kind are those that differ in numbers only", "[metrics]") {
  CHECK(kind_of_resource("gpu12 -> sw0") == "gpu -> sw");
  CHECK(kind_of_resource("cpu0 <-> cpu1") == "cpu <-> cpu");
}
