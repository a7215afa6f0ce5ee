// Keys of the strategies change whole runs in the direction that the rules say: four layers on a link that is too slow,
// and two servers under hybrid sharding.
#include "catch.hpp"
#include "support/scenarios.hpp"

using namespace takt;

namespace {

StepMetrics metrics(const char* name, const Overrides& overrides = {}) {
  return test::finished(name, overrides).result.metrics;
}

double step(const char* name, const Overrides& overrides = {}) {
  return to_seconds(metrics(name, overrides).step_time);
}

}  // namespace

TEST_CASE("DDP's first step hides nothing and its later ones do (D2)", "[scenarios]") {
  CHECK(metrics("overlap-ddp", {{"assumptions.iteration", "1"}}).communication.overlap_ratio < 0.01);
  CHECK(metrics("overlap-ddp").communication.overlap_ratio > 0.4);
  CHECK(step("overlap-ddp", {{"assumptions.iteration", "2"}}) > step("overlap-ddp"));
  CHECK(step("overlap-ddp", {{"assumptions.iteration", "9"}}) == step("overlap-ddp"));
}

TEST_CASE("FSDP1: no prefetch exposes gathers; the limiter trades memory for time (F12, F22, F24)", "[scenarios]") {
  const StepMetrics usual = metrics("overlap-fsdp1");
  CHECK(step("overlap-fsdp1", {{"parallel.fsdp1.backward_prefetch", "none"}}) > 1.1 * to_seconds(usual.step_time));
  const StepMetrics unlimited = metrics("overlap-fsdp1", {{"parallel.fsdp1.limit_all_gathers", "false"}});
  CHECK(unlimited.step_time <= usual.step_time);
  CHECK(unlimited.memory.peak >= usual.memory.peak);
}

TEST_CASE("hooks that take the CPU longer than a layer takes the card hold FSDP1 up (H1)", "[scenarios]") {
  CHECK(step("overlap-fsdp1", {{"assumptions.fsdp1_hook", "50 ms"}}) > 2.0 * step("overlap-fsdp1"));
}

TEST_CASE("keeping parameters after forward saves a gather (F15, S8)", "[scenarios]") {
  for (const char* name : {"overlap-fsdp1", "overlap-fsdp2"}) {
    CAPTURE(name);
    const StepMetrics full = metrics(name);
    const StepMetrics kept = metrics(name, {{"parallel.sharding", "grad-op"}});
    CHECK(kept.step_time < full.step_time);
    CHECK(kept.communication.received_per_card < full.communication.received_per_card);
  }
}

TEST_CASE("a measured step of many counts as a step of its own", "[scenarios]") {
  // The third step and the steady one are the same, and links carry what one step moves: 3 x 400 MB x 4 layers / 2.
  const StepMetrics third = metrics("overlap-fsdp1", {{"assumptions.iteration", "3"}});
  const StepMetrics steady = metrics("overlap-fsdp1");
  CHECK(third.step_time == steady.step_time);
  CHECK(steady.communication.received_per_card == Bytes(2'400'000'000));
  bool found = false;
  for (const LinkMetrics& link : steady.links) {
    if (link.name != "gpu0 -> sw0") continue;
    found = true;
    CHECK(static_cast<double>(link.bytes.count()) == Approx(2.4e9));
  }
  CHECK(found);
}

TEST_CASE("hybrid: reducing the replicas in the last micro-step only spares the network (S13)", "[scenarios]") {
  constexpr const char* name = "llama-3.1-8b-full-hybrid-2x-8x-rtx-pro-6000";
  const Override two = {"batch.gradient_accumulation", "2"};
  const StepMetrics each = metrics(name, {two});
  const StepMetrics last = metrics(name, {two, {"parallel.fsdp2.all_reduce_each_micro_step", "false"}});
  CHECK(last.communication.received_per_card < each.communication.received_per_card);
  CHECK(last.step_time < each.step_time);
}

TEST_CASE("FSDP reduces gradients in the format that it is told (F4, S12)", "[scenarios]") {
  constexpr const char* name = "llama-3.1-8b-full-fsdp2-2x-h200-nvl";
  for (const char* strategy : {"fsdp1", "fsdp2"}) {
    CAPTURE(strategy);
    const Override by = {"parallel.strategy", strategy};
    const StepMetrics usual = metrics(name, {by});
    const StepMetrics same = metrics(name, {by, {"finetune.reduce_precision", "fp32"}});
    const StepMetrics half = metrics(name, {by, {"finetune.reduce_precision", "bf16"}});
    CHECK(same.step_time == usual.step_time);
    // Two gathers of 2 bytes (one of the root under FSDP2) and 4 or 2 bytes of gradient for each parameter.
    const auto received = [](const StepMetrics& m) { return m.communication.received_per_card.count(); };
    CHECK(received(half) * 10 < received(usual) * 8);
    CHECK(half.communication.busy < usual.communication.busy);
  }
}

TEST_CASE("a backward that is not the last hides its last reductions behind the next forward (S15)", "[scenarios]") {
  constexpr const char* name = "llama-3.1-8b-full-hybrid-2x-8x-rtx-pro-6000";
  const Override two = {"batch.gradient_accumulation", "2"};
  CHECK(step(name, {two, {"parallel.fsdp2.wait_each_micro_step", "false"}}) < step(name, {two}));
}

TEST_CASE("an embedding of its own costs a gather in backward, unless it is told not to (S16)", "[scenarios]") {
  constexpr const char* name = "llama-3.1-8b-full-fsdp2-2x-h200-nvl";
  const Override apart = {"parallel.fsdp2.embedding_unit", "true"};
  const StepMetrics in_root = metrics(name);
  const StepMetrics gathered = metrics(name, {apart});
  const StepMetrics spared = metrics(name, {apart, {"parallel.fsdp2.unshard_in_backward", "false"}});
  CHECK(gathered.communication.received_per_card > in_root.communication.received_per_card);
  CHECK(spared.communication.received_per_card == in_root.communication.received_per_card);
  CHECK(spared.step_time <= gathered.step_time);
}
