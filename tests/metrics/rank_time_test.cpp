#include "metrics/rank_time.hpp"

#include "catch.hpp"
#include "metrics/hand_made.hpp"

using namespace takt;
using hand_made::us;

TEST_CASE("a step's time counts each instant once and adds up", "[metrics]") {
  const RankTime time = rank_time(hand_made::plan(), hand_made::timeline(), RankId(0));
  // forward 18 + backward 20
  REQUIRE(time.breakdown.compute == us(38));
  REQUIRE(time.breakdown.optimizer == us(5));
  // AG0 10 + RS 10; AG1 runs beside forward
  REQUIRE(time.breakdown.exposed_communication == us(20));
  // waiting for the late member 0 .. 2
  REQUIRE(time.breakdown.host == us(2));
}

TEST_CASE("overlap ratio is hidden over busy communication time", "[metrics]") {
  const CommunicationMetrics communication =
      rank_time(hand_made::plan(), hand_made::timeline(), RankId(0)).communication;
  // busy 2-22 and 50-60 = 30; hidden 12-22 = 10
  REQUIRE(communication.busy == us(30));
  REQUIRE(communication.hidden == us(10));
  REQUIRE(communication.overlap_ratio == Approx(1.0 / 3.0));
  REQUIRE(communication.exposed_by_kind ==
          std::map<std::string, Duration>{{"all-gather", us(10)}, {"reduce-scatter", us(10)}});
  // all-gathers 20, reduce-scatter 10
  REQUIRE(communication.longest == "all-gather: ring over 2 cards");
  // two all-gathers of 500 B, a reduce-scatter of 400 B
  REQUIRE(communication.received_per_card == Bytes(1400));
}

TEST_CASE("without communication everything is hidden", "[metrics]") {
  Plan plan = hand_made::plan();
  Timeline timeline = hand_made::timeline();
  plan.programs[0].ops.resize(2);
  plan.programs[0].ops.erase(plan.programs[0].ops.begin());
  timeline.ops[0] = {{us(12), us(12), us(30), {}}};
  timeline.end = us(30);
  const RankTime time = rank_time(plan, timeline, RankId(0));
  REQUIRE(time.communication.overlap_ratio == 1.0);
  REQUIRE(time.breakdown.host == us(12));
}

TEST_CASE("the time that a card waits for launches is the host's", "[metrics]") {
  Timeline timeline = hand_made::timeline();
  // Of the forward's 18 us the card waited 7 for the CPU.
  timeline.charges[0] = {{Cause::member, {}, us(2)},  {Cause::own_speed, {}, us(10)}, {Cause::own_speed, {}, us(11)},
                         {Cause::host, {}, us(7)},    {Cause::own_speed, {}, us(10)}, {Cause::own_speed, {}, us(20)},
                         {Cause::own_speed, {}, us(10)}, {Cause::own_speed, {}, us(5)}};
  timeline.charge_offsets[0] = {0, 2, 4, 5, 6, 7, 8};
  const RankTime time = rank_time(hand_made::plan(), timeline, RankId(0));
  REQUIRE(time.breakdown.compute == us(31));
  REQUIRE(time.breakdown.host == us(2 + 7));
  REQUIRE(time.breakdown.exposed_communication == us(20));
}

TEST_CASE("the slowest rank is the first that ends last", "[metrics]") {
  Timeline timeline = hand_made::timeline();
  REQUIRE(slowest_rank(timeline) == RankId(0));
  timeline.ops[1][hand_made::optimizer].end = us(66);
  REQUIRE(slowest_rank(timeline) == RankId(1));
}
