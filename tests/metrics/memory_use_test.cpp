#include "metrics/memory_use.hpp"

#include "catch.hpp"
#include "metrics/hand_made.hpp"

using namespace takt;
using hand_made::us;

namespace {

std::vector<std::pair<Duration, std::int64_t>> points(const std::vector<MemoryPoint>& timeline) {
  std::vector<std::pair<Duration, std::int64_t>> pairs;
  for (const MemoryPoint& point : timeline) pairs.emplace_back(point.when, point.allocated.count());
  return pairs;
}

}  // namespace

TEST_CASE("allocated memory follows the effects of ops", "[metrics]") {
  // 0: weights 500; 2: + gathered 1000; 12: + activations 300 + gathered 1000; 30: - 1000 + gradients 1200; 50: - 300
  REQUIRE(points(memory_timeline(hand_made::plan(), hand_made::timeline(), RankId(0))) ==
          std::vector<std::pair<Duration, std::int64_t>>{
              {us(0), 500}, {us(2), 1500}, {us(12), 2800}, {us(30), 3000}, {us(50), 2700}});
}

TEST_CASE("the peak says what it is made of and which op reached it", "[metrics]") {
  const Plan plan = hand_made::plan();
  const MemoryPeak peak = memory_peak(plan, hand_made::timeline(), RankId(0));
  REQUIRE(peak.allocated == Bytes(3000));
  const auto of = [&](MemoryCategory category) { return peak.by_category[static_cast<std::size_t>(category)].count(); };
  REQUIRE(of(MemoryCategory::weights) == 500);
  REQUIRE(of(MemoryCategory::gathered) == 1000);
  REQUIRE(of(MemoryCategory::activations) == 300);
  REQUIRE(of(MemoryCategory::gradients) == 1200);
  REQUIRE(describe(plan.programs[0], peak.op) == "backward, unit 1");
}

TEST_CASE("memory taken at issue counts from where the CPU is, host waits included", "[metrics]") {
  // The CPU works 3 us, waits for forward (30), then needs 4 us to issue a copy-like op whose effect is at issue.
  Plan plan = hand_made::plan();
  Timeline timeline = hand_made::timeline();
  Program& program = plan.programs[0];
  program.ops.resize(2);
  program.ops.push_back({StreamId{}, HostWait{OpId(1)}, Phase::other, no_unit, 0, {}, {}, {}});
  program.ops.push_back({StreamId(1),
                         Collective{CommSlot(0), 0},
                         Phase::communication,
                         1,
                         0,
                         us(4),
                         {},
                         {{EffectTime::issue, MemoryCategory::buffers, Bytes(70)}}});
  timeline.ops[0].resize(4);
  timeline.ops[0][2] = {us(30), us(30), us(30), {}};
  timeline.ops[0][3] = {us(34), us(40), us(50), RankId(1)};
  const auto all = points(memory_timeline(plan, timeline, RankId(0)));
  // 500 weights + 300 activations + 70
  REQUIRE(all.back() == std::pair<Duration, std::int64_t>{us(34), 870});
}

TEST_CASE("each phase has its own peak: what it finds counts too (M11)", "[metrics]") {
  // Forward runs from 0 to 30, backward to 60, the optimizer after. When backward starts 2800 - 1000 + 1200 bytes are
  // allocated, the most of all; forward's most is 2800 from 12 on; the optimizer finds 2700 and takes nothing.
  const std::vector<PeakOfPhase> peaks = peaks_of_phases(hand_made::plan(), hand_made::timeline(), RankId(0));
  REQUIRE(peaks.size() == 3);
  CHECK(peaks[0].phase == Phase::forward);
  CHECK(peaks[0].state.allocated == Bytes(2800));
  CHECK(peaks[0].state.when == us(12));
  CHECK(peaks[1].phase == Phase::backward);
  CHECK(peaks[1].state.allocated == Bytes(3000));
  CHECK(peaks[1].state.when == us(30));
  CHECK(peaks[2].phase == Phase::optimizer);
  CHECK(peaks[2].state.allocated == Bytes(2700));
  CHECK(peaks[2].state.when == us(60));
}

TEST_CASE("the peak is at an instant of the step", "[metrics]") {
  CHECK(memory_peak(hand_made::plan(), hand_made::timeline(), RankId(0)).when == us(30));
}

TEST_CASE("calls of a communicator with one algorithm share buffers, algorithms and communicators do not (N70)",
          "[metrics]") {
  Plan plan = hand_made::plan();
  plan.collectives[0].buffers = {1, Bytes(100)};
  plan.collectives[1].buffers = {1, Bytes(100)};
  CHECK(nccl_buffers(plan, RankId(0)) == Bytes(100));
  plan.collectives[1].buffers = {2, Bytes(70)};
  CHECK(nccl_buffers(plan, RankId(0)) == Bytes(170));
  plan.communicators.push_back(plan.communicators.front());
  plan.ranks[0].communicators.push_back(CommunicatorId(1));
  CHECK(nccl_buffers(plan, RankId(0)) == Bytes(340));
  CHECK(nccl_buffers(plan, RankId(1)) == Bytes(170));
}
