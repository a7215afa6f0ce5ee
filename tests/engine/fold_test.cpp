// Equal ranks played once: the same timeline as all of them played, and only where they are equal.
#include "engine/fold.hpp"

#include "catch.hpp"
#include "plans.hpp"

#include <random>

using namespace takt;
using namespace takt::test;

namespace {

constexpr double memory_bandwidth = 4e9;

struct EqualRanks {
  Plan plan;
  ResourceTable resources;
};

/// A program of kernels, calls and host waits on three streams.
Script random_script(std::mt19937& random) {
  std::uniform_real_distribution<double> real(0.2, 2.0);
  Script script;
  const StreamId streams[] = {script.stream("compute"), script.stream("a"), script.stream("b")};
  const CommSlot world = script.comm({{CollectiveKind::all_gather, Bytes(1)}, {CollectiveKind::all_reduce, Bytes(1)}});
  while (script.program.ops.size() < 60) {
    const std::size_t i = script.program.ops.size();
    std::vector<OpId> waits;
    if (i > 0 && random() % 2 == 0) waits.push_back(id_at<OpId>(random() % i));
    const StreamId on = streams[random() % 3];
    const auto kind = random() % 8;
    if (kind < 4) {
      script.kernel(on, us(100.0 * real(random)), random() % 3 == 0 ? 0.0 : 2e5 * real(random), waits);
    } else if (kind < 7) {
      script.call(on, world, static_cast<std::uint32_t>(random() % 2), waits);
    } else if (i > 0) {
      script.op(on, HostWait{id_at<OpId>(random() % i)});
    }
  }
  return script;
}

/// `ranks` ranks with one program; two calls, the second of two lanes, that all memories and two links carry.
EqualRanks equal_ranks(unsigned seed, std::size_t ranks) {
  std::mt19937 random(seed);
  EqualRanks made;
  const ResourceId slow = add_link(made.resources, "slow", 1.3e9), fast = add_link(made.resources, "fast", 2.9e9);
  made.plan.programs.push_back(random_script(random).program);
  std::vector<Demand> memories;
  std::vector<std::size_t> all;
  for (std::size_t r = 0; r < ranks; ++r) {
    RankBinding rank;
    rank.name = "rank " + std::to_string(r);
    rank.memory = id_at<ResourceId>(made.resources.size());
    rank.sm_count = 64;
    made.resources.push_back({rank.name + " memory", ResourceKind::card_memory, memory_bandwidth});
    memories.push_back({rank.memory, 1.7});
    made.plan.ranks.push_back(rank);
    all.push_back(r);
  }
  std::vector<Demand> over_slow = memories, over_fast = memories;
  over_slow.push_back({slow, 1.0});
  over_fast.push_back({fast, 2.0});
  LoweredCollective two_lanes = one_activity(1e5, over_slow, 2);
  Activity second = two_lanes.activities.front();
  second.demands = over_fast;
  second.work = 1.4e5;
  two_lanes.activities.push_back(second);
  add_communicator(made.plan, all, {one_activity(2e5, over_slow, 4, us(5)), two_lanes});
  return made;
}

Timeline played(const EqualRanks& made, bool fold) {
  EngineOptions options;
  options.fold = fold;
  options.record_rates = true;
  Result<Timeline> timeline = simulate(made.plan, made.resources, options);
  INFO(render(timeline.diagnostics()));
  REQUIRE(timeline.has_value());
  return *std::move(timeline);
}

void check_same(const Timeline& a, const Timeline& b) {
  REQUIRE(a.end == b.end);
  for (std::size_t rank = 0; rank < a.ops.size(); ++rank) {
    for (std::size_t op = 0; op < a.ops[rank].size(); ++op) {
      INFO("rank " << rank << ", op " << op);
      const OpRecord &x = a.ops[rank][op], &y = b.ops[rank][op];
      REQUIRE(x.ready == y.ready);
      REQUIRE(x.start == y.start);
      REQUIRE(x.end == y.end);
      REQUIRE(x.last_member == y.last_member);
      REQUIRE(a.reasons[rank][op].kind == b.reasons[rank][op].kind);
      REQUIRE(a.reasons[rank][op].op == b.reasons[rank][op].op);
    }
  }
  for (std::size_t i = 0; i < a.resources.size(); ++i) {
    REQUIRE(a.resources[i].busy == b.resources[i].busy);
    REQUIRE(a.resources[i].moved == Approx(b.resources[i].moved).epsilon(1e-12));
    REQUIRE(a.resources[i].peak == Approx(b.resources[i].peak).epsilon(1e-12));
  }
}

bool folds(const EqualRanks& made) {
  return fold_equal_ranks(made.plan, made.resources).has_value();
}

}  // namespace

TEST_CASE("equal ranks played once give the timeline of all of them", "[engine]") {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    const EqualRanks made = equal_ranks(seed, 5);
    REQUIRE(folds(made));
    check_same(played(made, true), played(made, false));
  }
}

TEST_CASE("a kernel of a repeated rank waits for its own card's memory", "[engine]") {
  const EqualRanks made = equal_ranks(1, 3);
  const Timeline timeline = played(made, true);
  std::size_t limited = 0;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    for (std::size_t op = 0; op < timeline.ops[rank].size(); ++op) {
      if (!std::holds_alternative<Segment>(made.plan.programs.front().ops[op].work)) continue;
      const auto [first, last] = charges_of(timeline, id_at<RankId>(rank), id_at<OpId>(op));
      for (const Charge* charge = first; charge != last; ++charge) {
        if (charge->cause != Cause::resource) continue;
        ++limited;
        REQUIRE(charge->resource == made.plan.ranks[rank].memory);
      }
    }
  }
  REQUIRE(limited > 0);
}

TEST_CASE("ranks that differ in anything are all played", "[engine]") {
  const EqualRanks equal = equal_ranks(1, 4);
  REQUIRE(folds(equal));
  const auto differs = [&](auto change) {
    EqualRanks made = equal;
    change(made);
    return !folds(made);
  };
  REQUIRE(differs([](EqualRanks& made) { made.plan.ranks[2].speed = 0.9; }));
  REQUIRE(differs([](EqualRanks& made) { made.plan.ranks[2].sm_count = 63; }));
  REQUIRE(differs([](EqualRanks& made) { made.resources[index(made.plan.ranks[3].memory)].capacity *= 2.0; }));
  REQUIRE(differs([](EqualRanks& made) { made.plan.collectives[0].activities[0].demands[1].per_unit = 1.0; }));
  REQUIRE(differs([](EqualRanks& made) {
    made.plan.collectives[0].activities[0].demands.erase(made.plan.collectives[0].activities[0].demands.begin());
  }));
  REQUIRE(differs([](EqualRanks& made) { made.plan.communicators[0].members.pop_back(); }));
  REQUIRE(differs([](EqualRanks& made) { made.plan.programs[0].ops[0].work = Copy{0, Bytes(1)}; }));
  REQUIRE(differs([](EqualRanks& made) { made.plan.ranks[1].memory = made.plan.ranks[0].memory; }));
}

TEST_CASE("what cannot go on is told of every rank, folded or not", "[engine]") {
  EqualRanks made = equal_ranks(1, 2);
  std::vector<Op>& ops = made.plan.programs.front().ops;
  ops.resize(1);
  ops.front().work = HostWait{id_at<OpId>(0)};
  ops.front().waits = {};
  EngineOptions unfolded;
  unfolded.fold = false;
  const Result<Timeline> one = simulate(made.plan, made.resources), all = simulate(made.plan, made.resources, unfolded);
  REQUIRE_FALSE(one.has_value());
  REQUIRE(render(one.diagnostics()) == render(all.diagnostics()));
}
