// Large networks are divided into regions (see engine/regions.hpp). Plans are played undivided and divided: answers must
// not differ, on any number of threads.
#include <cmath>
#include <random>

#include "../engine/jthread_executor.hpp"
#include "catch.hpp"
#include "random_plan.hpp"

using namespace takt;
using namespace takt::test;

namespace {

Timeline played(const RandomPlan& random, Division division, Executor* executor = nullptr) {
  EngineOptions options;
  options.division = division;
  options.executor = executor;
  options.record_rates = true;
  auto timeline = simulate(random.plan, random.resources, options);
  INFO(render(timeline.diagnostics()));
  REQUIRE(timeline.has_value());
  return *std::move(timeline);
}

struct RingShape {
  std::uint32_t cards = 200, channels = 2, steps = 6, rings = 2;
  double spread_of_links = 0.0;   ///< of their capacity; 0: all alike, so that a step's messages end together
  bool with_kernels = true;
};

/// Rings of messages over the same links, each called by two ranks of its own after a kernel; every card's memory takes
/// part, and kernels use some of them meanwhile.
RandomPlan message_rings(unsigned seed, const RingShape& shape) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> real(-1.0, 1.0);
  RandomPlan made;
  for (std::uint32_t i = 0; i < shape.cards; ++i) {
    add_link(made.resources, "link " + std::to_string(i), 1e9 * (1.0 + shape.spread_of_links * real(random)));
  }
  for (std::uint32_t i = 0; i < shape.cards; ++i) {
    made.resources.push_back({"memory " + std::to_string(i), ResourceKind::card_memory, 3e9});
  }
  const auto memory = [&](std::uint32_t card) { return id_at<ResourceId>(shape.cards + card % shape.cards); };
  LoweredCollective ring;
  for (std::uint32_t c = 0; c < shape.channels; ++c) {
    const auto base = ring.parts.size();
    const auto first = static_cast<std::uint32_t>(ring.activities.size());
    for (std::uint32_t i = 0; i < shape.cards; ++i) {
      Activity message;
      message.work = 1e5;
      message.latency = us(2);
      message.demands = {{id_at<ResourceId>(i), 1.0}, {memory(i), 0.5}, {memory(i + 1), 0.5}};
      ring.activities.push_back(message);
    }
    for (std::uint32_t step = 0; step < shape.steps; ++step) {
      for (std::uint32_t i = 0; i < shape.cards; ++i) {
        const std::uint32_t before = base + (step - 1) * shape.cards;
        const std::uint32_t after[] = {before + (i + shape.cards - 1) % shape.cards, before + i};
        ring.parts.add(first + i, std::span(after, step > 0 ? 2U : 0U));
      }
    }
  }
  for (std::uint32_t r = 0; r < shape.rings; ++r) {
    std::vector<std::size_t> members;
    for (std::uint32_t m = 0; m < 2; ++m) {
      Script script;
      const StreamId compute = script.stream("compute"), comm = script.stream("comm");
      const OpId kernel = script.kernel(compute, us(20.0 + 90.0 * r), 1e4);
      script.call(comm, script.comm({{CollectiveKind::all_gather, Bytes(1)}}), 0, {kernel});
      if (shape.with_kernels) {
        for (int k = 0; k < 8; ++k) script.kernel(compute, us(60.0 + 20.0 * real(random)), 1.5e5);
      }
      RankBinding rank;
      rank.role = id_at<RoleId>(made.plan.programs.size());
      rank.name = "rank " + std::to_string(made.plan.ranks.size());
      rank.memory = memory(static_cast<std::uint32_t>(random() % shape.cards));
      rank.sm_count = 64;
      members.push_back(made.plan.ranks.size());
      made.plan.programs.push_back(script.program);
      made.plan.ranks.push_back(rank);
    }
    add_communicator(made.plan, members, {ring});
  }
  return made;
}

/// Sums in another order: a few picoseconds in a second, and rounding.
void require_alike(const Timeline& a, const Timeline& b, const RandomPlan& plan) {
  for (std::size_t r = 0; r < a.ops.size(); ++r) {
    for (std::size_t op = 0; op < a.ops[r].size(); ++op) {
      REQUIRE(std::abs((a.ops[r][op].start - b.ops[r][op].start).count()) <= 50);
      REQUIRE(std::abs((a.ops[r][op].end - b.ops[r][op].end).count()) <= 50);
    }
  }
  for (std::size_t i = 0; i < plan.resources.size(); ++i) {
    const ResourceUse &left = a.resources[i], &right = b.resources[i];
    REQUIRE(left.moved == Approx(right.moved).epsilon(1e-9));
    REQUIRE(left.peak == Approx(right.peak).epsilon(1e-6));
    REQUIRE(std::abs((left.busy - right.busy).count()) <= 200);
  }
}

void require_equal(const Timeline& a, const Timeline& b) {
  REQUIRE(a.end == b.end);
  for (std::size_t r = 0; r < a.ops.size(); ++r) {
    for (std::size_t op = 0; op < a.ops[r].size(); ++op) {
      REQUIRE(a.ops[r][op].ready == b.ops[r][op].ready);
      REQUIRE(a.ops[r][op].start == b.ops[r][op].start);
      REQUIRE(a.ops[r][op].end == b.ops[r][op].end);
    }
    REQUIRE(a.charge_offsets[r] == b.charge_offsets[r]);
    for (std::size_t c = 0; c < a.charges[r].size(); ++c) {
      REQUIRE(a.charges[r][c].cause == b.charges[r][c].cause);
      REQUIRE(a.charges[r][c].resource == b.charges[r][c].resource);
      REQUIRE(a.charges[r][c].time == b.charges[r][c].time);
    }
  }
  for (std::size_t i = 0; i < a.resources.size(); ++i) {
    REQUIRE(a.resources[i].moved == b.resources[i].moved);
    REQUIRE(a.resources[i].peak == b.resources[i].peak);
    REQUIRE(a.resources[i].busy == b.resources[i].busy);
  }
  REQUIRE(a.rates.size() == b.rates.size());
}

void require_no_difference(const RandomPlan& random) {
  const Timeline one_thread = played(random, Division::always);
  require_alike(played(random, Division::never), one_thread, random);
  JthreadExecutor two(2), three(3);
  require_equal(one_thread, played(random, Division::always, &two));
  require_equal(one_thread, played(random, Division::always, &three));
#if !defined(__SANITIZE_THREAD__)
  const auto tbb = make_tbb_executor(2);
  require_equal(one_thread, played(random, Division::always, tbb.get()));
#endif
}

}  // namespace

TEST_CASE("random plans end as they do undivided", "[property]") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    require_no_difference(random_plan(seed, 40, 4, 40));
  }
}

TEST_CASE("rings of messages end as they do undivided", "[property]") {
  // 400 messages a step and a ring; alike links end them together, unlike ones in any order.
  for (unsigned seed = 1; seed <= 6; ++seed) {
    for (const double spread_of_links : {0.0, 0.3}) {
      INFO("seed " << seed << ", links " << spread_of_links << " apart");
      require_no_difference(message_rings(seed, {.spread_of_links = spread_of_links}));
    }
  }
}

TEST_CASE("a divided ring takes its steps", "[property]") {
  // One ring of two channels, nothing else: each step pays its latency and 1e5 bytes at half of 1 GB/s.
  const Timeline timeline = played(message_rings(1, {.rings = 1, .with_kernels = false}), Division::where_worth_it);
  const Duration call = timeline.ops[0][1].end - timeline.ops[0][1].start;
  REQUIRE(call == 6 * (us(2) + us(200)));
  // A link carries the six messages of both channels, and is never asked for more than it has.
  REQUIRE(timeline.resources[0].moved == Approx(12e5));
  REQUIRE(timeline.resources[0].peak == Approx(1e9));
  REQUIRE(timeline.resources[0].busy == 6 * us(200));
}
