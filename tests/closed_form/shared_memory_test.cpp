// Systems small enough to solve by hand; the equation stands before the numbers.
#include "../engine/plans.hpp"
#include "catch.hpp"

using namespace takt;
using namespace takt::test;

namespace {

Timeline play(const Plan& plan, const ResourceTable& resources, const EngineOptions& options = {}) {
  auto timeline = simulate(plan, resources, options);
  INFO(render(timeline.diagnostics()));
  REQUIRE(timeline.has_value());
  return *std::move(timeline);
}

}  // namespace

TEST_CASE("a kernel beside a copy on one memory", "[closed_form]") {
  // Memory 4 GB/s. Kernel: T0 = 2 s, 6 GB, so alone it asks for 3 GB/s. Copy: 3 GB over a link of 10 GB/s.
  // Together: each 2 GB/s (equal phi in bytes/s). The copy ends at 3/2 = 1.5 s. The kernel has then done 1.5 * 2/3 = 1 s
  // of its 2 s; the rest runs at its own speed (3 GB/s < 4): end = 1.5 + 1 = 2.5 s.
  ResourceTable resources;
  Plan plan;
  Script script;
  const StreamId compute = script.stream("compute"), copy = script.stream("copy");
  script.kernel(compute, ms(2000), 6e9);
  script.op(copy, Copy{0, Bytes(3'000'000'000)});
  const std::size_t rank = add_rank(plan, resources, script, 4e9);
  const ResourceId link = add_link(resources, "host link", 10e9);
  plan.ranks[rank].paths.push_back({"host to device", {{link, 1.0}, {plan.ranks[rank].memory, 1.0}}, {}});
  for (const bool prune : {true, false}) {
    EngineOptions options;
    options.prune = prune;
    const Timeline timeline = play(plan, resources, options);
    CHECK(timeline.ops[0][1].end == ms(1500));
    CHECK(timeline.ops[0][0].end == ms(2500));
    // Blame: 1.5 s at 2/3 of its speed, so 1 s to itself and 0.5 s to the memory; then 1 s to itself.
    const auto [first, last] = charges_of(timeline, RankId{}, OpId{});
    REQUIRE(last - first == 3);
    CHECK(first[0].cause == Cause::own_speed);
    CHECK(first[0].time == ms(1000));
    CHECK(first[1].cause == Cause::resource);
    CHECK(first[1].resource == plan.ranks[rank].memory);
    CHECK(first[1].time == ms(500));
    CHECK(first[2].cause == Cause::own_speed);
    CHECK(first[2].time == ms(1000));
  }
}

TEST_CASE("two communicators on one uplink halve each other", "[closed_form]") {
  // 8 GB over an uplink of 4 GB/s alone: 2 s. Two at once: 2 GB/s each, both end at 4 s.
  ResourceTable resources;
  Plan plan;
  for (int pair = 0; pair < 4; ++pair) {
    Script script;
    const StreamId stream = script.stream("comm");
    script.call(stream, script.comm({CollectiveCall{}}), 0);
    add_rank(plan, resources, script, 100e9);
  }
  const ResourceId uplink = add_link(resources, "uplink", 4e9);
  add_communicator(plan, {0, 1}, {one_activity(8e9, {{uplink, 1.0}})});
  add_communicator(plan, {2, 3}, {one_activity(8e9, {{uplink, 1.0}})});
  const Timeline timeline = play(plan, resources);
  for (const auto& ops : timeline.ops) CHECK(ops[0].end == ms(4000));
  CHECK(timeline.resources[index(uplink)].moved == Approx(16e9));
  CHECK(timeline.resources[index(uplink)].busy == ms(4000));
}

TEST_CASE("one communicator is one queue, on whatever streams", "[closed_form]") {
  // Two calls of one communicator on two streams, 1 s each (X2): the second starts when the first has ended.
  ResourceTable resources;
  Plan plan;
  for (int rank = 0; rank < 2; ++rank) {
    Script script;
    const StreamId a = script.stream("a"), b = script.stream("b");
    const CommSlot comm = script.comm({CollectiveCall{}});
    script.call(a, comm, 0);
    script.call(b, comm, 0);
    add_rank(plan, resources, script, 100e9);
  }
  const ResourceId link = add_link(resources, "link", 4e9);
  add_communicator(plan, {0, 1}, {one_activity(4e9, {{link, 1.0}})});
  const Timeline timeline = play(plan, resources);
  CHECK(timeline.ops[0][0].end == ms(1000));
  CHECK(timeline.ops[0][1].ready == ms(1000));
  CHECK(timeline.ops[0][1].end == ms(2000));
}

TEST_CASE("a collective waits for its last member and holds SMs meanwhile", "[closed_form]") {
  // Rank 1 computes 1 s before the call; rank 0 calls at once and computes 2 s beside it. The call takes 0.5 s and holds
  // 20 of 100 SMs from each member's launch to its end: on rank 0 from 0 to 1.5 s (H4).
  //   rank 0's kernel: 1.5 s at 0.8 = 1.2 s done, the last 0.8 s at full speed: ends at 2.3 s.
  ResourceTable resources;
  Plan plan;
  Script early;
  {
    const StreamId comm = early.stream("comm"), compute = early.stream("compute");
    early.call(comm, early.comm({CollectiveCall{}}), 0);
    early.kernel(compute, ms(2000));
  }
  Script late;
  {
    const StreamId comm = late.stream("comm"), compute = late.stream("compute");
    const OpId kernel = late.kernel(compute, ms(1000));
    late.call(comm, late.comm({CollectiveCall{}}), 0, {kernel});
  }
  add_rank(plan, resources, early, 100e9);
  add_rank(plan, resources, late, 100e9);
  const ResourceId link = add_link(resources, "link", 4e9);
  add_communicator(plan, {0, 1}, {one_activity(2e9, {{link, 1.0}}, 20)});
  const Timeline timeline = play(plan, resources);
  CHECK(timeline.ops[0][0].ready == ms(0));
  CHECK(timeline.ops[0][0].start == ms(1000));
  CHECK(timeline.ops[0][0].last_member == id_at<RankId>(1));
  CHECK(timeline.ops[0][0].end == ms(1500));
  CHECK(timeline.ops[0][1].end == ms(2300));
  const auto [first, last] = charges_of(timeline, RankId{}, OpId{});
  REQUIRE(last - first == 2);
  CHECK(first[0].cause == Cause::member);
  CHECK(first[0].time == ms(1000));
  CHECK(first[1].cause == Cause::resource);

  // Without SM contention the kernel is not disturbed.
  plan.sm_contention.enabled = false;
  CHECK(play(plan, resources).ops[0][1].end == ms(2000));
}

TEST_CASE("kernels at once on a card share its SMs equally", "[closed_form]") {
  // 1 s and 3 s at once: both at half speed until the first ends at 2 s; then 2 s are left at full speed: 4 s.
  ResourceTable resources;
  Plan plan;
  Script script;
  script.kernel(script.stream("a"), ms(1000));
  script.kernel(script.stream("b"), ms(3000));
  add_rank(plan, resources, script, 100e9);
  const Timeline timeline = play(plan, resources);
  CHECK(timeline.ops[0][0].end == ms(2000));
  CHECK(timeline.ops[0][1].end == ms(4000));
}

TEST_CASE("H5: copies queue for the copy engines in program order", "[closed_form]") {
  // Three copies of 1 GB at 1 GB/s each (own links), two engines: the third starts when an engine is free.
  ResourceTable resources;
  Plan plan;
  Script script;
  for (int i = 0; i < 3; ++i) {
    script.op(script.stream("copy"), Copy{static_cast<std::uint32_t>(i), Bytes(1'000'000'000 * (i + 1))});
  }
  const std::size_t rank = add_rank(plan, resources, script, 100e9);
  plan.ranks[rank].copy_engines = 2;
  for (int i = 0; i < 3; ++i) {
    const ResourceId link = add_link(resources, "link " + std::to_string(i), 1e9);
    plan.ranks[rank].paths.push_back({"path", {{link, 1.0}}, {}});
  }
  const Timeline timeline = play(plan, resources);
  CHECK(timeline.ops[0][0].end == ms(1000));
  CHECK(timeline.ops[0][1].end == ms(2000));
  CHECK(timeline.ops[0][2].start == ms(1000));
  CHECK(timeline.ops[0][2].end == ms(4000));
  CHECK(timeline.reasons[0][2].op == 0);
}

TEST_CASE("the CPU issues in order and a host wait stops it", "[closed_form]") {
  // Issue cost 1 ms an op. Kernel A (5 ms) is issued at 1, runs 1..6. The CPU then waits for A: it goes on at 6 and
  // issues B (2 ms, another stream) at 7: B runs 7..9. Without the wait B would be issued at 2.
  ResourceTable resources;
  Plan plan;
  Script script;
  const StreamId a = script.stream("a"), b = script.stream("b");
  const auto issued_kernel = [&](StreamId on, Duration time) {
    Segment segment;
    segment.time = time;
    segment.kernel_count = 1;
    segment.first_kernel = static_cast<std::uint32_t>(script.program.kernels.size());
    segment.issue_bound = time;
    script.program.kernels.push_back({KernelKind::gemm, time, {}, {}, "kernel"});
    script.program.kernel_issue.push_back(ms(1));
    return script.op(on, segment, {}, ms(1));
  };
  const OpId first = issued_kernel(a, ms(5));
  script.op(a, HostWait{first});
  issued_kernel(b, ms(2));
  add_rank(plan, resources, script, 100e9);
  const Timeline timeline = play(plan, resources);
  CHECK(timeline.ops[0][0].start == ms(1));
  CHECK(timeline.ops[0][1].end == ms(6));
  CHECK(timeline.ops[0][2].start == ms(7));
  CHECK(timeline.ops[0][2].end == ms(9));
  CHECK(timeline.reasons[0][2].kind == StartReason::Kind::host);
  CHECK(timeline.reasons[0][2].op == 0);
}

TEST_CASE("a host-bound segment ends no earlier than its last launch allows", "[closed_form]") {
  // Four kernels of 1 ms, launched 3 ms apart: issued at 3, 6, 9, 12; the segment ends at 13 although it holds 4 ms of
  // work. issue_bound = max_j (offset_j + times j..end) = 9 + 1 = 10 from the first issue at 3.
  ResourceTable resources;
  Plan plan;
  Script script;
  const StreamId stream = script.stream("compute");
  Segment segment;
  segment.time = ms(4);
  segment.kernel_count = 4;
  segment.issue_bound = ms(10);
  for (int i = 0; i < 4; ++i) {
    script.program.kernels.push_back({KernelKind::gemm, ms(1), {}, {}, "kernel"});
    script.program.kernel_issue.push_back(ms(3));
  }
  script.op(stream, segment, {}, ms(12));
  add_rank(plan, resources, script, 100e9);
  const Timeline timeline = play(plan, resources);
  CHECK(timeline.ops[0][0].start == ms(3));
  CHECK(timeline.ops[0][0].end == ms(13));
}

TEST_CASE("a deadlock names who waits for what", "[engine]") {
  // Rank 1 never calls.
  ResourceTable resources;
  Plan plan;
  Script calls, idle;
  calls.call(calls.stream("comm"), calls.comm({CollectiveCall{}}), 0);
  idle.comm({CollectiveCall{}});
  calls.program.labels = {"all-gather"};
  calls.program.ops[0].unit = 3;
  add_rank(plan, resources, calls, 1e9);
  add_rank(plan, resources, idle, 1e9);
  add_communicator(plan, {0, 1}, {one_activity(1e9, {{add_link(resources, "link", 1e9), 1.0}})});
  const auto timeline = simulate(plan, resources);
  REQUIRE_FALSE(timeline.has_value());
  REQUIRE(timeline.diagnostics().front().message ==
          "the simulated step cannot go on: 1 ops are unfinished and nothing runs\n"
          "  rank 0: all-gather of unit 3 (op 0) waits for 1 other members of 'comm'");
}
