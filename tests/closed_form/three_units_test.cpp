// Three FSDP units in milliseconds. In each case one wait moves, and the step moves as computed by hand.
//
// All collectives take fixed times on one communicator unless said otherwise; the CPU costs nothing; a copy-out takes no
// time. Streams: compute, gather, reduce.
#include <array>

#include "../engine/plans.hpp"
#include "catch.hpp"
#include "plan/builder.hpp"

using namespace takt;
using namespace takt::test;

namespace {

constexpr std::size_t units = 3;
using Times = std::array<double, units>;

enum class ForwardGather { two_ahead, one_ahead, none_ahead };
enum class BackwardGather { kept, one_ahead, after_reduce };
enum class ReduceQueue { shared, own };
enum class ComputeStalls { at_previous_reduce, never };
enum class OptimizerWaits { for_reduces, not_at_all };

struct Step {
  Times gather{}, forward{}, backward{}, reduce{};
  double after_backward = 0.0;   // more backward that needs no gradient of the units (the embedding's)
  double optimizer = 0.0;
  ForwardGather forward_gather = ForwardGather::two_ahead;
  BackwardGather backward_gather = BackwardGather::one_ahead;
  ReduceQueue queue = ReduceQueue::shared;
  ComputeStalls stalls = ComputeStalls::at_previous_reduce;
  OptimizerWaits waits = OptimizerWaits::for_reduces;
};

Kernel kernel(double milliseconds) { return {KernelKind::synthetic, ms(milliseconds), {}, {}, "kernel"}; }

class Writer {
 public:
  explicit Writer(const Step& step) : step_(step), builder_(BuilderOptions{}) {
    compute_ = builder_.stream(StreamKind::compute, "compute");
    gather_ = builder_.stream(StreamKind::all_gather, "gather");
    reduce_ = builder_.stream(StreamKind::reduce_scatter, "reduce");
    shard_ = builder_.comm("shard");
    other_ = builder_.comm("other");
  }

  double end_ms() {
    for (std::size_t i = 0; i < units; ++i) forward(i);
    for (std::size_t i = units; i-- > 0;) backward(i);
    if (step_.after_backward > 0) builder_.kernel(compute_, kernel(step_.after_backward), "rest");
    if (step_.waits == OptimizerWaits::for_reduces) builder_.wait(compute_, reduce_);
    if (step_.optimizer > 0) builder_.kernel(compute_, kernel(step_.optimizer), "optimizer");
    return play();
  }

 private:
  void copy_out(std::size_t i) {
    builder_.wait(compute_, gathered_[i]);
    builder_.kernel(compute_, kernel(0), "copy-out");
    copied_ = builder_.record(compute_);
  }

  void gather(std::size_t i) { gathered_[i] = collective(gather_, shard_, step_.gather[i]); }

  void forward(std::size_t i) {
    if (step_.forward[i] == 0.0) return;
    if (i > 0 && step_.forward_gather == ForwardGather::one_ahead) builder_.wait(gather_, copied_);
    if (step_.forward_gather == ForwardGather::none_ahead) builder_.wait(gather_, compute_);
    gather(i);
    if (i > 0 && step_.forward_gather == ForwardGather::two_ahead) builder_.wait(gather_, copied_);   // S6
    copy_out(i);
    builder_.kernel(compute_, kernel(step_.forward[i]), "forward");
  }

  void backward(std::size_t i) {
    if (step_.backward[i] == 0.0) return;
    const bool gathers = step_.backward_gather != BackwardGather::kept;
    if (gathers && (i + 1 == units || step_.backward_gather == BackwardGather::after_reduce)) gather(i);
    if (gathers) {
      copy_out(i);
      builder_.wait(gather_, copied_);                                                                 // S9
      if (i > 0 && step_.backward_gather == BackwardGather::one_ahead) gather(i - 1);
    }
    builder_.kernel(compute_, kernel(step_.backward[i]), "backward");
    if (i + 1 < units && step_.stalls == ComputeStalls::at_previous_reduce) builder_.wait(compute_, reduced_);   // S10
    builder_.kernel(compute_, kernel(0), "reduce copy-in");
    builder_.wait(reduce_, compute_);
    reduced_ = collective(reduce_, step_.queue == ReduceQueue::shared ? shard_ : other_, step_.reduce[i]);
  }

  /// A collective of a fixed time: the call's size is its number, by which the plan finds the time.
  Event collective(StreamId stream, CommSlot comm, double milliseconds) {
    LoweredCollective call;
    call.fixed = ms(milliseconds);
    times_[index(comm)].push_back(call);
    const auto number = static_cast<std::int64_t>(times_[index(comm)].size());
    return builder_.collective(stream, comm, {CollectiveKind::all_gather, Bytes(number)}, "collective");
  }

  double play() {
    Plan plan;
    plan.sm_contention.enabled = false;
    ResourceTable resources;
    Script script;
    script.program = std::move(builder_).finish();
    for (int rank = 0; rank < 2; ++rank) add_rank(plan, resources, script, 1e12);
    for (const auto& calls : times_) add_communicator(plan, {0, 1}, calls);
    const auto timeline = simulate(plan, resources);
    REQUIRE(timeline.has_value());
    return to_seconds(timeline->end) * 1e3;
  }

  const Step& step_;
  ProgramBuilder builder_;
  StreamId compute_{}, gather_{}, reduce_{};
  CommSlot shard_{}, other_{};
  std::array<Event, units> gathered_;
  Event copied_, reduced_;
  std::array<std::vector<LoweredCollective>, 2> times_;
};

double end_of(const Step& step) { return Writer(step).end_ms(); }

/// Backward of equal units: g = 3, b = 4, r = 2.
Step plain_backward() {
  Step step;
  step.gather = {3, 3, 3};
  step.backward = {4, 4, 4};
  step.reduce = {2, 2, 2};
  return step;
}

}  // namespace

TEST_CASE("forward: how far gathers run ahead", "[closed_form]") {
  Step step;
  step.gather = {1, 1, 6};
  step.forward = {6, 1, 1};
  // S6: G0 0-1, G1 1-2, G2 after copy-out(0) = 1: 2-8. F0 1-7, F1 7-8, F2 8-9.
  CHECK(end_of(step) == Approx(9));
  // The wait for copy-out(i-1) before gather(i) instead of after it: G2 after copy-out(1) = 7: 7-13; F2 13-14.
  step.forward_gather = ForwardGather::one_ahead;
  CHECK(end_of(step) == Approx(14));
  // Nothing ahead of compute: (1 + 6) + (1 + 1) + (6 + 1).
  step.forward_gather = ForwardGather::none_ahead;
  CHECK(end_of(step) == Approx(16));
}

TEST_CASE("backward: the gather of the next unit before the reduce-scatter of this one, or after it", "[closed_form]") {
  // One queue: G2 0-3, G1 3-6, RS2 7-9, G0 9-12, RS1 12-14, RS0. B2 3-7, B1 7-11, B0 12-16, RS0 16-18.
  Step step = plain_backward();
  CHECK(end_of(step) == Approx(18));
  // Gather after the reduce-scatter (F24): nothing overlaps: 3 (g + b + r).
  step.backward_gather = BackwardGather::after_reduce;
  CHECK(end_of(step) == Approx(27));
}

TEST_CASE("backward: reduce-scatters in the gathers' queue, or in their own", "[closed_form]") {
  Step step = plain_backward();
  CHECK(end_of(step) == Approx(18));
  // Own communicator: G0 needs not wait for RS2: 7-10. B1 7-11, B0 11-15, RS0 15-17.
  step.queue = ReduceQueue::own;
  CHECK(end_of(step) == Approx(17));
}

TEST_CASE("backward: one reduce-scatter in flight stalls compute when it is slower", "[closed_form]") {
  Step step;
  step.backward_gather = BackwardGather::kept;
  step.backward = {4, 4, 4};
  step.reduce = {6, 6, 6};
  step.after_backward = 9;
  // S10: B2 0-4, RS2 4-10. B1 4-8 and waits: RS1 10-16. B0 10-14 and waits: RS0 16-22. The rest 16-25.
  CHECK(end_of(step) == Approx(25));
  // Without the wait: B 0-12, the rest 12-21; RS0 ends at 4 + 3 * 6 = 22.
  step.stalls = ComputeStalls::never;
  CHECK(end_of(step) == Approx(22));
}

TEST_CASE("end: the optimizer waits for the last reduce-scatter", "[closed_form]") {
  Step step = plain_backward();
  step.optimizer = 5;
  // S14: B0 ends at 16, RS0 at 18, optimizer 18-23. Without the wait it would run 16-21.
  CHECK(end_of(step) == Approx(23));
  step.waits = OptimizerWaits::not_at_all;
  CHECK(end_of(step) == Approx(21));
}
