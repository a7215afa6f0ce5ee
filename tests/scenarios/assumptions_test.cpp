// Every assumption changes the result in the direction that the rules say, and only where it should.
//
// 70B LoRA under FSDP2 on eight PCIe cards (communication-bound) and on four bridged ones (compute-bound), one
// micro-step; a 1B-like model in tiny batches where the CPU is the bottleneck.
#include "catch.hpp"
#include "support/scenarios.hpp"

using namespace takt;

namespace {

constexpr const char* pcie = "llama-3.3-70b-lora-8x-rtx-pro-6000";
constexpr const char* bridged = "llama-3.3-70b-lora-4x-h200-nvl";
constexpr const char* one_card = "llama-3.1-8b-full-1x-h200-nvl";

StepMetrics metrics(const char* name, Overrides overrides = {}) {
  overrides.insert(overrides.begin(), test::one_micro_step);
  return test::finished(name, overrides).result.metrics;
}

double step(const char* name, const Overrides& overrides = {}) {
  return to_seconds(metrics(name, overrides).step_time);
}

/// A sequence so short that the card waits for its CPU.
Overrides short_sequence(Overrides more = {}) {
  more.push_back({"batch.sequence_length", "64"});
  return more;
}

}  // namespace

TEST_CASE("overlap: none is slower, perfect is faster than streams", "[scenarios]") {
  const double streams = step(pcie);
  CHECK(step(pcie, {{"assumptions.overlap", "none"}}) > 1.2 * streams);
  CHECK(step(pcie, {{"assumptions.overlap", "perfect"}}) <= streams);
}

TEST_CASE("prefetch: gathering nothing ahead exposes the gathers", "[scenarios]") {
  CHECK(step(bridged, {{"parallel.prefetch", "0"}}) > step(bridged));
}

TEST_CASE("H4: SMs that collectives hold slow kernels down, and more so by sm_slowdown", "[scenarios]") {
  const double held = step(bridged);
  CHECK(step(bridged, {{"assumptions.sm_contention", "false"}}) < held);
  CHECK(step(bridged, {{"assumptions.sm_slowdown", "2"}}) > held);
  // On PCIe two CTAs are held: too few for the slowdown to apply.
  CHECK(step(pcie, {{"assumptions.sm_slowdown", "2"}}) == step(pcie));
}

TEST_CASE("memory contention: traffic of collectives takes bandwidth from kernels", "[scenarios]") {
  const double shared = step(bridged);
  CHECK(step(bridged, {{"assumptions.memory_contention", "false"}}) <= shared);
  CHECK(step(bridged, {{"assumptions.hbm_traffic_factor", "16"}}) > shared);
}

TEST_CASE("H1: short sequences wait for the CPU: launches, eager ops, collectives and hooks", "[scenarios]") {
  const double slow = step(one_card, short_sequence());
  CHECK(step(one_card, short_sequence({{"assumptions.kernel_launch", "0 us"}})) < slow);
  CHECK(step(one_card, short_sequence({{"assumptions.eager_op", "0 us"}})) < slow);
  const StepMetrics bound = metrics(one_card, short_sequence({{"model.name", "qwen3-0.6b"}}));
  CHECK(bound.blame.front().resource == "host");
  // On long sequences the CPU runs ahead: the same keys change the step by less than a hundredth.
  CHECK(step(one_card, {{"assumptions.eager_op", "0 us"}}) > 0.99 * step(one_card));

  const double sharded = step(bridged, short_sequence());
  CHECK(step(bridged, short_sequence({{"assumptions.fsdp2_hook", "1 ms"}})) > sharded);
  CHECK(step(bridged, short_sequence({{"assumptions.collective_launch", "1 ms"}})) > sharded);
  const Overrides ddp = short_sequence({{"parallel.strategy", "ddp"}, {"model.name", "qwen3-0.6b"}});
  Overrides hooked = ddp;
  hooked.push_back({"assumptions.ddp_hook", "100 us"});
  CHECK(step(bridged, hooked) > step(bridged, ddp));
}

TEST_CASE("H1, C9: fused and compiled layers launch less, so that the CPU keeps up", "[scenarios]") {
  const double eager = step(one_card, short_sequence());
  const double fused = step(one_card, short_sequence({{"finetune.elementwise", "fused"}}));
  const double compiled = step(one_card, short_sequence({{"finetune.elementwise", "compiled"}}));
  CHECK(fused < eager);
  CHECK(compiled < fused);
  // With long sequences it is their memory traffic.
  CHECK(step(one_card, {{"finetune.elementwise", "fused"}}) < step(one_card));
}

TEST_CASE("C10: a loss fused with the head moves less and takes less memory", "[scenarios]") {
  const Override small = {"model.name", "qwen3-0.6b"};
  const StepMetrics eager = metrics(one_card, {small});
  const StepMetrics fused = metrics(one_card, {small, {"finetune.cross_entropy", "fused-linear"}});
  CHECK(fused.memory.peak < eager.memory.peak);
  CHECK(step(one_card, {small, {"finetune.cross_entropy", "compiled"}}) < to_seconds(eager.step_time));
}

TEST_CASE("a loss in one kernel needs less than the library's and more than a compiled one", "[scenarios]") {
  const Override small = {"model.name", "qwen3-0.6b"};
  const auto peak = [&](const char* form) {
    return metrics(one_card, {small, {"finetune.cross_entropy", form}}).memory.peak;
  };
  CHECK(peak("fused") < peak("eager"));
  CHECK(peak("fused") > peak("compiled"));
}

TEST_CASE("pure bf16 halves what the optimizer works on, and its traffic (M5)", "[scenarios]") {
  const StepMetrics masters = metrics(one_card);
  const StepMetrics pure = metrics(one_card, {{"finetune.master_precision", "bf16"}});
  CHECK(pure.memory.components.at("optimizer").count() * 2 == masters.memory.components.at("optimizer").count());
  CHECK(pure.memory.components.at("weights").count() * 2 == masters.memory.components.at("weights").count());
  CHECK(pure.breakdown.optimizer < masters.breakdown.optimizer);
}

TEST_CASE("attention: a mask and eager attention compute and move more than FlashAttention", "[scenarios]") {
  const double flash = step(one_card);
  CHECK(step(one_card, {{"finetune.attention", "flash-triton"}}) > flash);
  CHECK(step(one_card, {{"finetune.attention", "sdpa-mask"}}) > flash);
  CHECK(step(one_card, {{"finetune.attention", "eager"}}) > flash);
}

TEST_CASE("O1 to O3: foreach moves more than fused, 8-bit states less", "[scenarios]") {
  const Duration fused = metrics(one_card).breakdown.optimizer;
  CHECK(metrics(one_card, {{"finetune.optimizer_form", "foreach"}}).breakdown.optimizer > fused);
  CHECK(metrics(one_card, {{"finetune.optimizer", "adamw-8bit"}}).breakdown.optimizer < fused);
}

TEST_CASE("C3: packing short documents makes attention cheaper", "[scenarios]") {
  CHECK(step(one_card, {{"batch.packing", "512"}}) < step(one_card));
}

TEST_CASE("C8, C18: recomputing less is faster and takes more memory", "[scenarios]") {
  const auto with = [](const char* key, const char* value) {
    return metrics(one_card, {{"model.name", "qwen3-0.6b"}, {"batch.micro_batch", "4"}, {key, value}});
  };
  const StepMetrics all = with("finetune.checkpoint_every", "1");
  const StepMetrics half = with("finetune.checkpoint_every", "2");
  const StepMetrics none = with("finetune.activation_checkpointing", "none");
  const StepMetrics reentrant = with("finetune.checkpoint_reentrant", "true");
  CHECK(none.step_time < half.step_time);
  CHECK(half.step_time < all.step_time);
  CHECK(all.step_time < reentrant.step_time);
  CHECK(all.memory.peak < half.memory.peak);
  CHECK(half.memory.peak < none.memory.peak);
}

TEST_CASE("H6: clipping costs two passes over the gradients", "[scenarios]") {
  CHECK(step(one_card, {{"finetune.gradient_clipping", "false"}}) < step(one_card));
}

TEST_CASE("H7: a CPU that waits for each loss starts the next micro-step late", "[scenarios]") {
  const Overrides two = {{"batch.gradient_accumulation", "2"}};
  const auto with = [&](const char* when) {
    return to_seconds(test::finished(one_card, {two[0], {"finetune.loss_read_back", when}}).result.metrics.step_time);
  };
  CHECK(with("micro-step") > with("step"));
  CHECK(with("step") == with("none"));  // nothing comes behind the step's end
}

TEST_CASE("C22: adapters in FP32 products are slower than under autocast", "[scenarios]") {
  CHECK(step(bridged, {{"finetune.lora.autocast", "false"}}) > step(bridged));
}

TEST_CASE("stragglers and jitter: a step takes as long as its slowest rank", "[scenarios]") {
  const double equal = step(bridged);
  const double straggler = step(bridged, {{"assumptions.stragglers.2", "1.2"}});
  CHECK(straggler > 1.1 * equal);
  CHECK(straggler < 1.2 * equal * 1.01);
  const double jittered = step(bridged, {{"assumptions.jitter", "0.1"}});
  CHECK(jittered > equal);
  CHECK(jittered < 1.1 * equal * 1.01);
  CHECK(jittered != step(bridged, {{"assumptions.jitter", "0.1"}, {"assumptions.seed", "2"}}));
  CHECK(jittered == step(bridged, {{"assumptions.jitter", "0.1"}, {"assumptions.seed", "1"}}));
}

TEST_CASE("links, compute and NCCL's limits: nominal, peak and none are faster", "[scenarios]") {
  CHECK(step(pcie, {{"assumptions.links", "nominal"}}) < step(pcie));
  CHECK(step(pcie, {{"assumptions.nccl_limits", "false"}}) < step(pcie));
  CHECK(step(bridged, {{"assumptions.compute", "peak"}}) < step(bridged));
}

TEST_CASE("in_situ: kernels within a step are slower than alone", "[scenarios]") {
  const double in_step = step(one_card);
  CHECK(step(one_card, {{"assumptions.in_situ", "false"}}) < in_step);
  // At dense peak there is nothing that was fitted to take away.
  CHECK(step(one_card, {{"assumptions.compute", "peak"}, {"assumptions.in_situ", "false"}}) ==
        step(one_card, {{"assumptions.compute", "peak"}}));
}
