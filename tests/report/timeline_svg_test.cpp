// The picture of rank 0's streams.
#include "catch.hpp"
#include "plan/builder.hpp"
#include "report/report.hpp"

using namespace takt;

namespace {

/// Compute 0-4 ms of unit 7, a collective 2-5 ms, a wait of the CPU 1-3 ms.
Plan plan_of() {
  ProgramBuilder builder(BuilderOptions{});
  const StreamId compute = builder.stream(StreamKind::compute, "compute");
  const StreamId gather = builder.stream(StreamKind::all_gather, "gather <1>");
  builder.stream(StreamKind::all_reduce, "idle");
  const CommSlot comm = builder.comm("shard");
  builder.phase(Phase::forward);
  builder.unit(7);
  builder.kernel(compute, {KernelKind::gemm, std::chrono::milliseconds(4), {}, {}, "k"}, "forward");
  const Event gathered = builder.collective(gather, comm, {CollectiveKind::all_gather, Bytes(1)}, "all-gather");
  builder.host_wait(gathered);
  Plan plan;
  plan.programs.push_back(std::move(builder).finish());
  plan.ranks.emplace_back();
  return plan;
}

Timeline timeline_of() {
  using std::chrono::milliseconds;
  Timeline timeline;
  timeline.end = milliseconds(5);
  timeline.ops = {{{{}, {}, milliseconds(4), {}},
                   {{}, milliseconds(2), milliseconds(5), {}},
                   {milliseconds(1), milliseconds(1), milliseconds(3), {}}}};
  return timeline;
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("the picture has a row for each stream with work and a box for each op", "[report]") {
  RunResult result;
  result.scenario.title = "A & B";
  const std::string svg = timeline_svg(result, plan_of(), timeline_of());
  // 818 pixels for 5 ms: the kernel 654.4 long from 130, the collective from 457.2, 490.8 long.
  CHECK(svg.find("<rect x=\"130.0\" y=\"60.0\" width=\"654.4\"") != std::string::npos);
  CHECK(svg.find("<rect x=\"457.2\" y=\"86.0\" width=\"490.8\"") != std::string::npos);
  CHECK(svg.find("<rect x=\"293.6\" y=\"34.0\" width=\"327.2\"") != std::string::npos);
  CHECK(svg.find("A &amp; B, rank 0") != std::string::npos);
  CHECK(svg.find("gather &lt;1>") != std::string::npos);
  CHECK(svg.find("idle") == std::string::npos);
  CHECK(count(svg, "<title>") == 3);
  CHECK(count(svg, ">7</text>") == 3);  // the unit, in each box
}
