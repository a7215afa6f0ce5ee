#include "plan/builder.hpp"

#include "catch.hpp"
#include "toy.hpp"

using namespace takt;
using toy::kernel;
using toy::label;
using toy::us;

namespace {

BuilderOptions launch_of_4_us() {
  return {.kernel_launch = us(4), .collective_launch = us(25), .overlap = Overlap::streams, .join_kernels = true};
}

const Segment& segment(const Op& op) { return std::get<Segment>(op.work); }

struct TwoStreams {
  explicit TwoStreams(BuilderOptions options = launch_of_4_us()) : builder(options) {}
  ProgramBuilder builder;
  StreamId compute = builder.stream(StreamKind::compute, "compute");
  StreamId comm_stream = builder.stream(StreamKind::all_gather, "all-gather");
  CommSlot comm = builder.comm("shard");

  Event all_gather() {
    return builder.collective(comm_stream, comm, {CollectiveKind::all_gather, Bytes(1024)}, "all-gather");
  }
};

}  // namespace

TEST_CASE("kernels between synchronisation points are one segment", "[plan]") {
  TwoStreams t;
  const std::vector<Kernel> two = {kernel("a", us(10), Bytes(100)), kernel("b", us(20), Bytes(50))};
  t.builder.kernels(t.compute, two, "forward");
  t.builder.kernel(t.compute, kernel("c", us(5), Bytes(7)), "forward");
  const Program program = std::move(t.builder).finish();
  REQUIRE(program.ops.size() == 1);
  const Segment& joined = segment(program.ops[0]);
  REQUIRE(joined.kernel_count == 3);
  REQUIRE(joined.time == us(35));
  REQUIRE(joined.memory_bytes == 157.0);
  REQUIRE(program.ops[0].issue_cost == us(12));
  REQUIRE(program.kernel_issue == std::vector<Duration>(program.kernels.size(), us(4)));
}

TEST_CASE("the issue bound of a segment is the longest of issue offset plus remaining times", "[plan]") {
  // launch 4 us: offsets 0, 4, 8 us. Times 1, 1, 10 us.
  // from kernel 0: 0 + 1 + 1 + 10 = 12;  from 1: 4 + 1 + 10 = 15;  from 2: 8 + 10 = 18 us.
  TwoStreams slow_cpu;
  const std::vector<Kernel> short_first = {kernel("a", us(1)), kernel("b", us(1)), kernel("c", us(10))};
  slow_cpu.builder.kernels(slow_cpu.compute, short_first, "forward");
  REQUIRE(segment(std::move(slow_cpu.builder).finish().ops[0]).issue_bound == us(18));

  // Times 10, 1, 1 us: from 0: 12;  from 1: 4 + 2 = 6;  from 2: 8 + 1 = 9 us. The card is the slower one.
  TwoStreams slow_card;
  const std::vector<Kernel> long_first = {kernel("a", us(10)), kernel("b", us(1)), kernel("c", us(1))};
  slow_card.builder.kernels(slow_card.compute, long_first, "forward");
  REQUIRE(segment(std::move(slow_card.builder).finish().ops[0]).issue_bound == us(12));

  // The same bound when the kernels join one by one.
  TwoStreams one_by_one;
  for (const Kernel& each : short_first) one_by_one.builder.kernel(one_by_one.compute, each, "forward");
  REQUIRE(segment(std::move(one_by_one.builder).finish().ops[0]).issue_bound == us(18));
}

TEST_CASE("whatever observes the point between two kernels ends the segment", "[plan]") {
  TwoStreams t;
  const Kernel a = kernel("a", us(1));
  SECTION("an event") {
    t.builder.kernel(t.compute, a, "forward");
    t.builder.record(t.compute);
  }
  SECTION("a wait") {
    const Event gathered = t.all_gather();
    t.builder.kernel(t.compute, a, "forward");
    t.builder.wait(t.compute, gathered);
  }
  SECTION("something issued to another stream in between") {
    t.builder.kernel(t.compute, a, "forward");
    t.all_gather();
  }
  SECTION("a host wait") {
    const Event gathered = t.all_gather();
    t.builder.kernel(t.compute, a, "forward");
    t.builder.host_wait(gathered);
  }
  SECTION("memory taken") {
    t.builder.kernel(t.compute, a, "forward");
    t.builder.allocate(t.compute, MemoryCategory::activations, Bytes(1));
  }
  SECTION("memory given back") {
    t.builder.kernel(t.compute, a, "forward");
    t.builder.release(t.compute, MemoryCategory::activations, Bytes(1));
  }
  SECTION("another phase") {
    t.builder.kernel(t.compute, a, "forward");
    t.builder.phase(Phase::backward);
  }
  SECTION("another unit") {
    t.builder.kernel(t.compute, a, "forward");
    t.builder.unit(3);
  }
  t.builder.kernel(t.compute, a, "forward");
  const Program program = std::move(t.builder).finish();
  REQUIRE(toy::find(program, "forward").size() == 2);
}

TEST_CASE("without joining every kernel is an op", "[plan]") {
  BuilderOptions options = launch_of_4_us();
  options.join_kernels = false;
  TwoStreams t(options);
  const std::vector<Kernel> two = {kernel("a", us(1)), kernel("b", us(2))};
  t.builder.kernels(t.compute, two, "forward");
  t.builder.kernel(t.compute, kernel("c", us(3)), "forward");
  const Program program = std::move(t.builder).finish();
  REQUIRE(program.ops.size() == 3);
  REQUIRE(segment(program.ops[1]).time == us(2));
  REQUIRE(segment(program.ops[1]).issue_bound == us(2));
}

TEST_CASE("equal runs of kernels stand in the program once, and growing one leaves the others alone", "[plan]") {
  TwoStreams t;
  const std::vector<Kernel> layer = {kernel("a", us(1)), kernel("b", us(2))};
  for (std::uint32_t unit = 0; unit < 3; ++unit) {
    t.builder.unit(unit);
    t.builder.kernels(t.compute, layer, "forward");
  }
  t.builder.kernel(t.compute, kernel("c", us(4)), "forward");   // joins the third
  t.builder.unit(3);
  t.builder.kernels(t.compute, layer, "forward");
  t.builder.kernel(t.compute, kernel("d", us(8)), "forward");   // joins the fourth
  const Program program = std::move(t.builder).finish();
  REQUIRE(program.ops.size() == 4);
  REQUIRE(program.kernels.size() == 6);   // a b (of three) c, a b d
  const auto names = [&](std::size_t op) {
    std::string text;
    const Segment& s = segment(program.ops[op]);
    for (std::uint32_t k = 0; k < s.kernel_count; ++k) text += program.kernels[s.first_kernel + k].name;
    return text;
  };
  REQUIRE(names(0) == "ab");
  REQUIRE(names(1) == "ab");
  REQUIRE(names(2) == "abc");
  REQUIRE(names(3) == "abd");
  REQUIRE(segment(program.ops[0]).time == us(3));
  REQUIRE(segment(program.ops[2]).time == us(7));
  REQUIRE(program.ops[2].issue_cost == us(12));
  // offsets 0, 4, 8 us: c: max(1 + 2 + 4, 4 + 2 + 4, 8 + 4) = 12 us; d: max(1 + 2 + 8, 4 + 2 + 8, 8 + 8) = 16 us
  REQUIRE(segment(program.ops[2]).issue_bound == us(12));
  REQUIRE(segment(program.ops[3]).issue_bound == us(16));
}

TEST_CASE("a stream waits for events of other streams, once each", "[plan]") {
  TwoStreams t;
  const Event gathered = t.all_gather();
  t.builder.wait(t.compute, gathered);
  t.builder.wait(t.compute, gathered);
  t.builder.wait(t.compute, t.comm_stream);
  t.builder.kernel(t.compute, kernel("a", us(1)), "forward");
  t.builder.kernel(t.compute, kernel("b", us(1)), "forward");
  t.builder.wait(t.comm_stream, t.compute);
  t.all_gather();
  const Program program = std::move(t.builder).finish();
  REQUIRE(program.ops.size() == 3);
  REQUIRE(program.ops[1].waits == std::vector<OpId>{OpId{0}});
  REQUIRE(program.ops[2].waits == std::vector<OpId>{OpId{1}});
}

TEST_CASE("an event holds what its stream was told to wait for, though no op came after", "[plan]") {
  TwoStreams t;
  const StreamId copy_in = t.builder.stream(StreamKind::copy_in, "copy-in");
  t.all_gather();
  t.builder.wait(t.compute, t.comm_stream);
  t.builder.wait(copy_in, t.compute);
  t.builder.kernel(copy_in, kernel("copy", us(1)), "copy");
  const Program program = std::move(t.builder).finish();
  REQUIRE(program.ops[1].waits == std::vector<OpId>{OpId{0}});
}

TEST_CASE("an event of an empty stream is done at once", "[plan]") {
  TwoStreams t;
  t.builder.wait(t.compute, t.comm_stream);
  t.builder.kernel(t.compute, kernel("a", us(1)), "forward");
  REQUIRE(std::move(t.builder).finish().ops[0].waits.empty());
}

TEST_CASE("a host wait stands in issue order and names the op", "[plan]") {
  TwoStreams t;
  t.builder.host_wait(t.all_gather());
  t.builder.host_work(us(7), "hooks");
  const Program program = std::move(t.builder).finish();
  REQUIRE(std::get<HostWait>(program.ops[1].work).op == OpId{0});
  REQUIRE(program.ops[1].waits == std::vector<OpId>{OpId{0}});
  REQUIRE(std::get<HostWork>(program.ops[2].work).time == us(7));
}

TEST_CASE("equal calls of a communicator are one call", "[plan]") {
  TwoStreams t;
  t.all_gather();
  t.all_gather();
  t.builder.collective(t.comm_stream, t.comm, {CollectiveKind::reduce_scatter, Bytes(1024)}, "reduce-scatter");
  const Program program = std::move(t.builder).finish();
  REQUIRE(program.comms[0].calls.size() == 2);
  REQUIRE(std::get<Collective>(program.ops[1].work).call == 0);
  REQUIRE(std::get<Collective>(program.ops[2].work).call == 1);
  REQUIRE(program.ops[0].issue_cost == us(25));
}

TEST_CASE("overlap none: each op waits for the one before it, whatever its stream", "[plan]") {
  BuilderOptions options = launch_of_4_us();
  options.overlap = Overlap::none;
  TwoStreams t(options);
  t.builder.kernel(t.compute, kernel("a", us(1)), "forward");
  t.all_gather();
  t.builder.kernel(t.compute, kernel("b", us(1)), "forward");
  t.builder.kernel(t.compute, kernel("c", us(1)), "forward");   // joins b: a stream is serial by itself
  t.all_gather();
  const Program program = std::move(t.builder).finish();
  REQUIRE(program.ops.size() == 4);
  for (std::uint32_t i = 1; i < 4; ++i) REQUIRE(program.ops[i].waits == std::vector<OpId>{OpId{i - 1}});
}

TEST_CASE("overlap perfect: compute ignores communication, communication still follows compute", "[plan]") {
  BuilderOptions options = launch_of_4_us();
  options.overlap = Overlap::perfect;
  TwoStreams t(options);
  const StreamId copy_in = t.builder.stream(StreamKind::copy_in, "copy-in");
  t.builder.kernel(copy_in, kernel("copy", us(1)), "copy");
  t.builder.wait(t.comm_stream, copy_in);
  const Event gathered = t.all_gather();
  t.builder.wait(t.compute, gathered);
  t.builder.wait(t.compute, copy_in);
  t.builder.kernel(t.compute, kernel("a", us(1)), "forward");
  t.builder.wait(t.comm_stream, t.compute);
  t.all_gather();
  const Program program = std::move(t.builder).finish();
  REQUIRE(program.ops[1].waits == std::vector<OpId>{OpId{0}});   // the collective waits for its copy-in
  REQUIRE(program.ops[2].waits == std::vector<OpId>{OpId{0}});   // compute waits for the copy, not the collective
  REQUIRE(program.ops[3].waits == std::vector<OpId>{OpId{2}});
}

TEST_CASE("memory effects belong to the op that takes them and to the last op before the release", "[plan]") {
  TwoStreams t;
  t.builder.resident(MemoryCategory::weights, Bytes(100));
  t.builder.allocate(t.compute, MemoryCategory::gathered, Bytes(8));
  t.builder.allocate(t.compute, MemoryCategory::buffers, Bytes{});   // nothing
  t.builder.kernel(t.compute, kernel("a", us(1)), "forward");
  t.all_gather();
  t.builder.release(t.compute, MemoryCategory::gathered, Bytes(8));
  const Program program = std::move(t.builder).finish();
  REQUIRE(program.ops[0].effects.size() == 3);
  REQUIRE(program.ops[0].effects[0].when == EffectTime::issue);
  REQUIRE(program.ops[0].effects[0].delta == Bytes(100));
  REQUIRE(program.ops[0].effects[1].when == EffectTime::start);
  REQUIRE(program.ops[0].effects[1].delta == Bytes(8));
  REQUIRE(program.ops[0].effects[2].when == EffectTime::end);
  REQUIRE(program.ops[0].effects[2].delta == Bytes(-8));
  REQUIRE(program.ops[1].effects.empty());
}
