// Collectives whose activities wait for one another: what members are charged with.
#include <numeric>

#include "catch.hpp"
#include "plans.hpp"

using namespace takt;
using namespace takt::test;

namespace {

/// `length` messages of 1 ms, one after another, each over a link of its own; two members.
Timeline played(std::size_t length) {
  Plan plan;
  ResourceTable resources;
  std::vector<std::size_t> members;
  for (int rank = 0; rank < 2; ++rank) {
    Script script;
    script.call(script.stream("comm"), script.comm({CollectiveCall{}}), 0);
    members.push_back(add_rank(plan, resources, script, 1e12));
  }
  LoweredCollective chain;
  for (std::uint32_t i = 0; i < length; ++i) {
    Activity message;
    message.work = 1e6;
    message.demands = {{add_link(resources, "link " + std::to_string(i), 1e9), 1.0}};
    message.latency = us(10);
    chain.activities.push_back(message);
    const std::uint32_t before = i - 1;
    chain.parts.add(i, std::span(&before, i > 0 ? 1U : 0U));
  }
  add_communicator(plan, members, {chain});
  EngineOptions options;
  options.fold = false;
  return simulate(plan, resources, options).value();
}

std::vector<Charge> charges(const Timeline& timeline, std::uint32_t rank) {
  const auto [first, last] = charges_of(timeline, id_at<RankId>(rank), OpId{});
  return {first, last};
}

Duration sum(const std::vector<Charge>& charges) {
  return std::accumulate(charges.begin(), charges.end(), Duration{},
                         [](Duration time, const Charge& charge) { return time + charge.time; });
}

}  // namespace

TEST_CASE("a call that has nothing to move makes way for the next at the same instant", "[engine]") {
  // Two calls of a communicator: the first without work, the second 1e6 bytes at 1 GB/s, 1 ms, after its fixed time.
  for (const Duration fixed : {Duration{}, us(5)}) {
    Plan plan;
    ResourceTable resources;
    std::vector<std::size_t> members;
    for (int rank = 0; rank < 2; ++rank) {
      Script script;
      const StreamId stream = script.stream("comm");
      const CommSlot comm = script.comm({CollectiveCall{}, CollectiveCall{}});
      script.call(stream, comm, 0);
      script.call(stream, comm, 1);
      members.push_back(add_rank(plan, resources, script, 1e12));
    }
    const ResourceId link = add_link(resources, "link", 1e9);
    add_communicator(plan, members, {one_activity(0.0, {}), one_activity(1e6, {{link, 1.0}}, 0, fixed)});
    EngineOptions options;
    options.fold = false;
    const Timeline timeline = simulate(plan, resources, options).value();
    REQUIRE(timeline.ops[0][0].end == Duration{});
    REQUIRE(timeline.end == fixed + us(1000));
  }
}

TEST_CASE("a short chain of messages is told to all members alike", "[engine]") {
  // Three messages: 3 (10 us + 1 ms).
  const Timeline timeline = played(3);
  REQUIRE(timeline.end == us(3030));
  for (const std::uint32_t rank : {0U, 1U}) {
    REQUIRE(charges(timeline, rank).size() == 6);
    REQUIRE(sum(charges(timeline, rank)) == us(3030));
  }
}

TEST_CASE("a long one is told in full of the first member, and summed up by cause of the others", "[engine]") {
  const Timeline timeline = played(20);
  REQUIRE(timeline.end == us(20200));
  REQUIRE(charges(timeline, 0).size() == 40);
  REQUIRE(sum(charges(timeline, 0)) == us(20200));
  const std::vector<Charge> condensed = charges(timeline, 1);
  REQUIRE(condensed.size() == 2);
  REQUIRE(condensed[0].cause == Cause::resource);
  REQUIRE(condensed[0].time == us(20000));
  REQUIRE(condensed[1].cause == Cause::latency);
  REQUIRE(condensed[1].time == us(200));
}
