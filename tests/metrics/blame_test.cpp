#include "metrics/blame.hpp"

#include "catch.hpp"
#include "metrics/hand_made.hpp"

using namespace takt;
using hand_made::us;

namespace {

std::map<std::string, Duration> as_map(const std::vector<BlameEntry>& entries) {
  std::map<std::string, Duration> times;
  for (const BlameEntry& entry : entries) times[entry.resource] = entry.time;
  return times;
}

}  // namespace

TEST_CASE("blame walks back through the last member and adds up", "[metrics]") {
  const auto entries = blame(hand_made::plan(), hand_made::timeline(), hand_made::resources());
  // optimizer 5 + backward 15 + forward 18; scatter 2 + 8; backward's other 5; gather0 10; rank 1's CPU 2
  REQUIRE(as_map(entries) == std::map<std::string, Duration>{{"compute", us(38)},
                                                             {"gpu0 -> gpu1", us(8)},
                                                             {"latency of collectives", us(2)},
                                                             {"SMs taken by others", us(5)},
                                                             {"NCCL's own limit", us(10)},
                                                             {"host", us(2)}});
  REQUIRE(entries.front().resource == "compute");
  double shares = 0.0;
  for (const BlameEntry& entry : entries) shares += entry.share;
  REQUIRE(shares == Approx(1.0));
}

TEST_CASE("a gap before an op that the CPU issued late is the host's", "[metrics]") {
  Timeline timeline = hand_made::timeline();
  // Rank 1 reaches the scatter last. Its CPU was set free by gather1 at 22 and issued backward at 30.
  timeline.reasons[1][hand_made::backward] = {StartReason::Kind::host, hand_made::gather1};
  const auto times = as_map(blame(hand_made::plan(), timeline, hand_made::resources()));
  // 2 of rank 1's CPU + 8 from 22 to 30
  REQUIRE(times.at("host") == us(10));
  // gather0 10 + gather1 10
  REQUIRE(times.at("NCCL's own limit") == us(20));
}

TEST_CASE("members with other programs are followed by the number of the call", "[metrics]") {
  Plan plan = hand_made::plan();
  Timeline timeline = hand_made::timeline();
  // Rank 1 runs a role whose program starts with an op of the host: all positions move by one.
  Program other = plan.programs[0];
  other.ops.insert(other.ops.begin(), Op{StreamId{}, HostWork{us(2)}, Phase::other, no_unit, 0, {}, {}, {}});
  plan.programs.push_back(other);
  plan.ranks[1].role = RoleId(1);
  timeline.ops[1].insert(timeline.ops[1].begin(), OpRecord{us(0), us(0), us(2), RankId(1)});
  timeline.reasons[1].insert(timeline.reasons[1].begin(), StartReason{});
  timeline.reasons[1][1] = {StartReason::Kind::host, 0};
  timeline.charges[1].insert(timeline.charges[1].begin(), Charge{Cause::host, {}, us(2)});
  timeline.charge_offsets[1] = {0, 1, 3, 4, 5, 7, 9, 10};
  for (std::size_t op = 2; op < timeline.reasons[1].size(); ++op) ++timeline.reasons[1][op].op;
  REQUIRE(as_map(blame(plan, timeline, hand_made::resources())).at("host") == us(2));
}

TEST_CASE("charges that do not add up are our fault", "[metrics]") {
  Timeline timeline = hand_made::timeline();
  timeline.charges[0].back().time = us(4);
  REQUIRE_THROWS_AS(blame(hand_made::plan(), timeline, hand_made::resources()), ContractViolation);
}
