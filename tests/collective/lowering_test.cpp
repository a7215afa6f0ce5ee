// Rings on real servers against figures worked out by hand. Nominal links, no NCCL limits, unless said otherwise.
#include "collective/lowering.hpp"

#include "../engine/plans.hpp"
#include "../support/hardware.hpp"
#include "catch.hpp"
#include "engine/simulate.hpp"

using namespace takt;
using namespace takt::test;

namespace {

constexpr std::int64_t message = 4'000'000'000;

CollectiveOptions links_alone() {
  CollectiveOptions options;
  options.nccl_limits = false;
  options.memory_contention = false;
  return options;
}

/// Time of one call that nothing disturbs.
Duration time_of(const LoweredCollective& call, const Topology& topology) {
  Plan plan;
  ResourceTable resources = topology.resources();
  std::vector<std::size_t> members;
  for (int r = 0; r < 2; ++r) {
    Script script;
    script.call(script.stream("comm"), script.comm({CollectiveCall{}}), 0);
    members.push_back(add_rank(plan, resources, script, 1e12));
  }
  add_communicator(plan, members, {call});
  return simulate(plan, resources)->end;
}

/// Bytes a second that each card receives, fixed time left out.
double received_rate(CollectiveKind kind, std::size_t members, const Topology& topology,
                     const CollectiveOptions& options) {
  const auto call = lower_collective({kind, Bytes(message)}, vertices(topology, members), topology, options).value();
  return static_cast<double>(call.moved_per_rank.count()) / to_seconds(time_of(call, topology) - call.fixed);
}

}  // namespace

TEST_CASE("NVLink bridges: 450 GB/s a card, and 150 on one pair of four", "[collective]") {
  const Topology two = server("2x-h200-nvl-2-way-bridge", LinkBasis::nominal);
  const Topology four = server("4x-h200-nvl-4-way-bridge", LinkBasis::nominal);
  const Topology hgx = server("8x-h200-sxm-hgx", LinkBasis::nominal);
  const auto options = links_alone();
  // 2-way: all 18 links to the one peer. 4-way: six rings, each edge in 2 of 6: 3 peers x 150 = 450.
  CHECK(received_rate(CollectiveKind::all_gather, 2, two, options) == Approx(450e9).epsilon(1e-6));
  CHECK(received_rate(CollectiveKind::all_gather, 4, four, options) == Approx(450e9).epsilon(1e-6));
  CHECK(received_rate(CollectiveKind::all_gather, 2, four, options) == Approx(150e9).epsilon(1e-6));
  // Three of the four: two rings, each of the six pair directions in one: 2 x 150.
  CHECK(received_rate(CollectiveKind::all_gather, 3, four, options) == Approx(300e9).epsilon(1e-6));
  // NVSwitch: one ring at the card's whole NVLink rate.
  CHECK(received_rate(CollectiveKind::all_gather, 8, hgx, options) == Approx(450e9).epsilon(1e-6));
}

TEST_CASE("bytes match the formulas of each collective", "[collective]") {
  // all-gather and reduce-scatter: (n - 1) / n of the message in and out of each card; all-reduce: twice that.
  for (const char* id : {"4x-h200-nvl-4-way-bridge", "8x-rtx-pro-6000-server-4-switches", "8x-h200-sxm-hgx"}) {
    const Topology topology = server(id, LinkBasis::nominal);
    const std::size_t n = topology.cards().size();
    for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
      const double expected = (kind == CollectiveKind::all_reduce ? 2.0 : 1.0) * static_cast<double>(message) *
                              static_cast<double>(n - 1) / static_cast<double>(n);
      const auto call =
          lower_collective({kind, Bytes(message)}, vertices(topology, n), topology, links_alone()).value();
      CHECK(static_cast<double>(call.moved_per_rank.count()) == Approx(expected).margin(1.0));
      // Every edge of every order moves its share: the works add up to what one card sends.
      double sent = 0.0;
      for (const Activity& activity : call.activities) sent += activity.work * activity.payload;
      CHECK(sent == Approx(expected));
    }
  }
}

TEST_CASE("an eight-card ring on PCIe is as fast as its slowest link, halved when the file halves it", "[collective]") {
  // In index order the ring crosses each card's link, each uplink and the socket link once a direction: 64 GB/s each
  // where the file says so. One uplink at half: every edge waits for it, so the ring runs at 32 GB/s.
  const SourceText text = text_of("topologies/servers/8x-rtx-pro-6000-server-4-switches.toml");
  const Topology whole = build(text, LinkBasis::nominal).value();
  SourceText halved = text;
  halved.text =
      replaced(text.text, "to = \"sw0\"", "type = \"pcie5-x16\"", "type = \"pcie5-x16\", nominal = \"32 GB/s\"");
  const Topology narrow = build(halved, LinkBasis::nominal).value();
  auto options = links_alone();
  const double fast = received_rate(CollectiveKind::all_gather, 8, whole, options);
  const double slow = received_rate(CollectiveKind::all_gather, 8, narrow, options);
  INFO("whole " << fast << ", halved " << slow);
  CHECK(fast == Approx(64e9).epsilon(1e-6));
  CHECK(slow == Approx(32e9).epsilon(1e-6));
}

TEST_CASE("step by step a ring takes as long as the fluid form", "[collective]") {
  // h steps of (hop + V / B): the fluid form pays the hops first and then h V / B.
  const Topology topology = server("4x-h200-nvl-4-way-bridge", LinkBasis::nominal);
  for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::all_reduce}) {
    auto options = links_alone();
    const CollectiveCall call{kind, Bytes(message)};
    const auto fluid = lower_collective(call, vertices(topology, 4), topology, options).value();
    options.settings.fidelity = Fidelity::chunked;
    const auto steps = lower_collective(call, vertices(topology, 4), topology, options).value();
    CHECK(steps.activities.size() == 6U * 4U);  // a channel's hop is one activity, sent at each step
    CHECK(steps.parts.size() == 6U * 4U * (kind == CollectiveKind::all_reduce ? 6U : 3U));
    CHECK(to_seconds(time_of(steps, topology)) == Approx(to_seconds(time_of(fluid, topology))).epsilon(1e-9));
  }
}

TEST_CASE("pipeline chunks cost a hop each and no more", "[collective]") {
  // Two cards, one step of V = 1 GB a ring, 24 channels of 2 MiB chunks: ceil(1e9 / (24 x 2 MiB)) = 20 messages, each
  // hop + V / 20 / B. The fluid form pays one hop.
  const Topology topology = server("2x-h200-nvl-2-way-bridge", LinkBasis::nominal);
  auto options = links_alone();
  options.settings.channels = 24;
  const CollectiveCall call{CollectiveKind::all_gather, Bytes(2'000'000'000)};
  const auto fluid = lower_collective(call, vertices(topology, 2), topology, options).value();
  options.settings.fidelity = Fidelity::chunked;
  options.settings.chunk = Chunk::nccl;
  const auto chunked = lower_collective(call, vertices(topology, 2), topology, options).value();
  CHECK(chunked.parts.size() == 20U * 2U);
  const Duration hop = chunked.activities.front().latency;
  CHECK(hop > Duration{});
  CHECK(to_seconds(time_of(chunked, topology)) ==
        Approx(to_seconds(time_of(fluid, topology) + 19 * hop)).epsilon(1e-7));
}

TEST_CASE("CTAs limit a PCIe ring: one after another they take h + 1 steps for h", "[collective]") {
  // Eight cards, every other hop staged, on 2 CTAs of 13 GB/s: each edge moves at 2 x 13 x 7 / 8 = 22.75 GB/s
  // (measured: 23.0).
  const Topology topology = server("8x-rtx-pro-6000-server-4-switches", LinkBasis::measured);
  CollectiveOptions options;
  options.settings.channels = 2;
  const double rate = received_rate(CollectiveKind::all_gather, 8, topology, options);
  CHECK(rate == Approx(22.75e9).epsilon(1e-6));
}

TEST_CASE("a ring of one card or of no bytes costs nothing", "[collective]") {
  const Topology topology = server("1x-h200-nvl", LinkBasis::nominal);
  const auto call =
      lower_collective({CollectiveKind::all_gather, Bytes(message)}, vertices(topology, 1), topology, {}).value();
  CHECK(call.activities.empty());
  CHECK(call.fixed == Duration{});
  CHECK(call.ctas == 0);
}
