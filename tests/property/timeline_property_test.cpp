// What every timeline must obey, checked on random plans with printed seeds.
#include <algorithm>
#include <cmath>

#include "../engine/jthread_executor.hpp"
#include "catch.hpp"
#include "engine/program_index.hpp"
#include "random_plan.hpp"

using namespace takt;
using namespace takt::test;

namespace {

Timeline play(const RandomPlan& random, const EngineOptions& options = {}) {
  auto timeline = simulate(random.plan, random.resources, options);
  INFO(render(timeline.diagnostics()));
  REQUIRE(timeline.has_value());
  return *std::move(timeline);
}

/// The least time an op can take.
Duration least(const Plan& plan, const RankBinding& rank, const Op& op) {
  if (const auto* segment = std::get_if<Segment>(&op.work)) return segment->time;
  if (const auto* collective = std::get_if<Collective>(&op.work)) {
    const auto& comm = plan.communicators[index(rank.communicators[index(collective->comm)])];
    return plan.collectives[index(comm.lowered[collective->call])].fixed;
  }
  return Duration{};
}

}  // namespace

TEST_CASE("spans of a stream are disjoint, no op starts before its inputs, the step is no shorter than its critical path",
          "[property]") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    const RandomPlan random = random_plan(seed, 3, 4, 60);
    const Timeline timeline = play(random);
    const Program& program = random.plan.programs[0];
    const ProgramIndex lookup(program);
    for (std::size_t r = 0; r < random.plan.ranks.size(); ++r) {
      std::vector<Duration> finish(program.ops.size());
      for (std::uint32_t op = 0; op < program.ops.size(); ++op) {
        const OpRecord& span = timeline.ops[r][op];
        REQUIRE(span.ready <= span.start);
        REQUIRE(span.start <= span.end);
        REQUIRE(span.end <= timeline.end);
        for (const std::uint32_t next : lookup.dependents(op)) {
          if (!on_host(program.ops[next])) REQUIRE(timeline.ops[r][next].ready >= span.end);
          finish[next] = std::max(finish[next], finish[op] + least(random.plan, random.plan.ranks[r], program.ops[op]));
        }
        REQUIRE(timeline.end >= finish[op]);
        const auto [first, last] = charges_of(timeline, id_at<RankId>(r), id_at<OpId>(op));
        Duration charged{};
        for (const Charge* charge = first; charge != last; ++charge) charged += charge->time;
        if (!on_host(program.ops[op])) REQUIRE(charged == span.end - span.ready);
      }
    }
    for (std::size_t i = 0; i < random.resources.size(); ++i) {
      REQUIRE(timeline.resources[i].peak <= random.resources[i].capacity * (1 + 1e-9));
      const double most = random.resources[i].capacity * to_seconds(timeline.resources[i].busy);
      REQUIRE(timeline.resources[i].moved <= most * (1 + 1e-9) + 1e-3);
    }
  }
}

TEST_CASE("pruned and unpruned timelines are equal", "[property]") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    const RandomPlan random = random_plan(seed, 3, 4, 60);
    EngineOptions unpruned;
    unpruned.prune = false;
    const Timeline a = play(random), b = play(random, unpruned);
    for (std::size_t r = 0; r < a.ops.size(); ++r) {
      for (std::size_t op = 0; op < a.ops[r].size(); ++op) {
        // Rounding up to whole picoseconds after sums in another order: a few picoseconds in a second.
        const auto difference = std::abs((a.ops[r][op].end - b.ops[r][op].end).count());
        REQUIRE(difference <= 20);
      }
    }
  }
}

TEST_CASE("any executor and any number of threads give the same timeline", "[property]") {
  // 100 groups of 4: components of one instant hold more activities than the grain below which the engine stays serial.
  const RandomPlan random = random_plan(7, 100, 4, 40);
  const Timeline serial = play(random);
  const auto same = [&](Executor& executor) {
    EngineOptions options;
    options.executor = &executor;
    const Timeline other = play(random, options);
    REQUIRE(other.end == serial.end);
    for (std::size_t r = 0; r < serial.ops.size(); ++r) {
      for (std::size_t op = 0; op < serial.ops[r].size(); ++op) {
        REQUIRE(other.ops[r][op].start == serial.ops[r][op].start);
        REQUIRE(other.ops[r][op].end == serial.ops[r][op].end);
      }
    }
    for (std::size_t i = 0; i < serial.resources.size(); ++i) {
      REQUIRE(other.resources[i].moved == serial.resources[i].moved);
    }
  };
  JthreadExecutor two(2), three(3);
  same(two);
  same(three);
#if !defined(__SANITIZE_THREAD__)
  const auto tbb = make_tbb_executor(2);
  same(*tbb);
#endif
}
