// Forms of kernels: what they move, launch and keep (semantics C3, C8 to C10, C14, C18, C21, C22; compute study).
// Llama 3.1 8B, T = 4096 tokens: h = 4096, q = 4096 + 1024, I = 14336, V = 128256.
#include "catch.hpp"
#include "fixtures.hpp"
#include "workload/ends.hpp"
#include "workload/recipe.hpp"

using namespace takt;
using namespace takt::test;

namespace {

constexpr double tokens = 4096.0;
constexpr double h = 4096.0;
constexpr double q = 5120.0;
constexpr double mlp = 14336.0;
constexpr double vocabulary = 128256.0;

Workload in_form(ElementwiseForm form, Method method = Method::full) {
  Scenario scenario = scenario_of(method);
  scenario.finetune.elementwise = form;
  return build(llama_3_1_8b(), scenario);
}

Workload with_loss(CrossEntropy form, Method method = Method::full) {
  Scenario scenario = scenario_of(method);
  scenario.finetune.cross_entropy = form;
  return build(llama_3_1_8b(), scenario);
}

std::int64_t launches(const std::vector<Kernel>& kernels) {
  std::int64_t sum = 0;
  for (const Kernel& kernel : kernels) sum += kernel.launches;
  return sum;
}

std::int64_t dispatches(const std::vector<Kernel>& kernels) {
  std::int64_t sum = 0;
  for (const Kernel& kernel : kernels) sum += kernel.dispatches;
  return sum;
}

const BlockKind& head(const Workload& workload) { return workload.block(33); }

}  // namespace

TEST_CASE("C9: fused elementwise kernels move 20h + 4q + 6I forward, 46h + 4q + 10I backward") {
  const BlockKind layer = in_form(ElementwiseForm::fused).block(1);
  CHECK(traffic(layer.forward, KernelKind::elementwise) == tokens * (20.0 * h + 4.0 * q + 6.0 * mlp));
  CHECK(traffic(layer.backward, KernelKind::elementwise) == tokens * (46.0 * h + 4.0 * q + 10.0 * mlp));
}

TEST_CASE("C9: compiled layers move 16h + 4q + 6I forward, 36h + 4q + 10I backward") {
  const BlockKind layer = in_form(ElementwiseForm::compiled).block(1);
  CHECK(traffic(layer.forward, KernelKind::elementwise) == tokens * (16.0 * h + 4.0 * q + 6.0 * mlp));
  CHECK(traffic(layer.backward, KernelKind::elementwise) == tokens * (36.0 * h + 4.0 * q + 10.0 * mlp));
}

TEST_CASE("H1, C9: an eager layer launches its norms and rotation op by op; each launch is an eager op") {
  const BlockKind layer = in_form(ElementwiseForm::eager).block(1);
  // two norms of 8, rotation 10, activation 2, two additions, seven linears, attention
  CHECK(launches(layer.forward) == 2 * 8 + 10 + 2 + 2 + 7 + 1);
  CHECK(dispatches(layer.forward) == launches(layer.forward));
  // norms 14, rotation 18, activation 3, additions 1; dgrad and wgrad of seven; attention 3
  CHECK(launches(layer.backward) == 2 * 14 + 18 + 3 + 2 + 14 + 3);
}

TEST_CASE("H1, C9: GPT-2's activation is eight kernels op by op, eleven backward, and one each when fused") {
  Scenario scenario = scenario_of(Method::full);
  scenario.batch.sequence_length = 1024;
  const double elements = 1024.0 * 3072.0;
  const BlockKind eager = build(gpt_2(), scenario).block(1);
  // two norms, qkv, attention, o, two additions, up, activation 8, down
  CHECK(launches(eager.forward) == 2 + 1 + 1 + 1 + 2 + 1 + 8 + 1);
  // norms 2, activation 11, additions 1; dgrad, wgrad and bias of four; attention 3
  CHECK(launches(eager.backward) == 2 * 2 + 11 + 2 + 4 * 3 + 3);
  scenario.finetune.elementwise = ElementwiseForm::fused;
  const BlockKind fused = build(gpt_2(), scenario).block(1);
  CHECK(launches(fused.forward) == launches(eager.forward) - 7);
  CHECK(launches(fused.backward) == launches(eager.backward) - 10);
  // 36 and 56 bytes an element against 4 and 6.
  const auto difference = [&](const std::vector<Kernel>& a, const std::vector<Kernel>& b) {
    return traffic(a, KernelKind::elementwise) - traffic(b, KernelKind::elementwise);
  };
  CHECK(difference(eager.forward, fused.forward) == (36.0 - 4.0) * elements);
  CHECK(difference(eager.backward, fused.backward) == (56.0 - 6.0) * elements);
}

TEST_CASE("H1: fused kernels launch less, a compiled graph less still and dispatches nothing") {
  const BlockKind fused = in_form(ElementwiseForm::fused).block(1);
  CHECK(launches(fused.forward) == 2 + 1 + 1 + 2 + 7 + 1);
  CHECK(dispatches(fused.forward) == launches(fused.forward));
  const BlockKind compiled = in_form(ElementwiseForm::compiled).block(1);
  CHECK(launches(compiled.forward) == 2 + 1 + 1 + 7 + 1);  // additions are part of the norms
  CHECK(dispatches(compiled.forward) == 0);
  CHECK(dispatches(compiled.backward) == 0);
}

TEST_CASE("C14: fused norms keep their input in 16 bits, a fused activation no silu") {
  const Bytes eager = in_form(ElementwiseForm::eager).block(1).memory.kept;
  const Bytes fused = in_form(ElementwiseForm::fused).block(1).memory.kept;
  // a norm: FP32 copy 4h and normalised 2h against the input's 2h; the activation: 8I against 6I
  CHECK(eager - fused == Bytes(4096LL * (2 * 4 * 4096 + 2 * 14336)));
}

TEST_CASE("C3: repeated keys and values cost attention with a mask two launches, eager attention too") {
  Scenario scenario = scenario_of(Method::full);
  const std::int64_t flash = launches(build(llama_3_1_8b(), scenario).block(1).forward);
  scenario.finetune.attention = AttentionKernel::sdpa_mask;
  CHECK(launches(build(llama_3_1_8b(), scenario).block(1).forward) == flash + 2);
  scenario.finetune.attention = AttentionKernel::eager;
  CHECK(launches(build(llama_3_1_8b(), scenario).block(1).forward) == flash + 8);
}

TEST_CASE("C10: cross-entropy moves 36 bytes a logit eagerly, 24 compiled or in one kernel, 14 fused with the head") {
  const double logits = tokens * vocabulary;
  const auto moved = [](const Workload& workload) {
    return traffic(head(workload).forward, KernelKind::loss) + traffic(head(workload).backward, KernelKind::loss);
  };
  CHECK(moved(with_loss(CrossEntropy::eager)) == 36.0 * logits);
  CHECK(moved(with_loss(CrossEntropy::compiled)) == 24.0 * logits);
  CHECK(moved(with_loss(CrossEntropy::fused)) == 24.0 * logits);
  CHECK(moved(with_loss(CrossEntropy::fused_linear)) == 14.0 * logits);
}

TEST_CASE("C10: fused with the head, the products of the backward run in the forward, chunk by chunk") {
  const Workload eager = with_loss(CrossEntropy::eager);
  const Workload fused = with_loss(CrossEntropy::fused_linear);
  CHECK(flops(head(fused).forward, KernelKind::gemm) == 3.0 * 2.0 * tokens * vocabulary * h);
  CHECK(flops(head(fused).backward, KernelKind::gemm) == 0.0);
  CHECK(fused.model_flops == eager.model_flops);
  // V / h = 31.3: 32 parts of 128 tokens; the products are launched once a part.
  CHECK(launches(head(fused).forward) == 8 + 4 * 32);
  CHECK_FALSE(has(head(with_loss(CrossEntropy::fused_linear, Method::lora)).forward, "lm_head wgrad"));
}

TEST_CASE("C10: tokens that do not fill the last chunk are computed once") {
  Scenario scenario = scenario_of(Method::full);
  scenario.batch.sequence_length = 4000;  // 31 chunks of 128 and one of 32
  scenario.finetune.cross_entropy = CrossEntropy::fused_linear;
  const Workload workload = build(llama_3_1_8b(), scenario);
  CHECK(flops(head(workload).forward, KernelKind::gemm) == Approx(3.0 * 2.0 * 4000.0 * vocabulary * h).epsilon(1e-12));
}

TEST_CASE("M9: a fused head keeps a chunk of logits, a compiled loss 5 bytes a logit, one kernel 8, the eager one 14") {
  const auto peak = [](const Workload& workload) {
    const BlockMemory& memory = head(workload).memory;
    return memory.kept + std::max(memory.forward_transient, memory.backward_transient);
  };
  const std::int64_t logits = 4096LL * 128256;
  const Bytes fused = peak(with_loss(CrossEntropy::fused_linear));
  CHECK(peak(with_loss(CrossEntropy::eager)) - fused == Bytes(14 * logits - 128LL * 128256 * 2));
  CHECK(peak(with_loss(CrossEntropy::fused)) - fused == Bytes(8 * logits - 128LL * 128256 * 2));
  CHECK(peak(with_loss(CrossEntropy::compiled)) - fused == Bytes(5 * logits - 128LL * 128256 * 2));
}

TEST_CASE("C3: packed documents attend to themselves: the sum of the squares of their lengths") {
  Scenario scenario = scenario_of(Method::full);
  scenario.batch.packing = {1024};
  const Workload packed = build(llama_3_1_8b(), scenario);
  const double width = 32.0 * 128.0;
  CHECK(flops(packed.block(1).forward, KernelKind::attention) == 2.0 * 4.0 * 1024.0 * 1024.0 * width);
  scenario.batch.packing = {3000, 500};  // repeated until 4,096 tokens: 3000, 500, 596
  CHECK(document_lengths(scenario.batch) == std::vector<std::int64_t>{3000, 500, 596});
  const Workload uneven = build(llama_3_1_8b(), scenario);
  CHECK(flops(uneven.block(1).forward, KernelKind::attention) ==
        2.0 * (3000.0 * 3000.0 + 500.0 * 500.0 + 596.0 * 596.0) * width);
  CHECK(flops(uneven.block(1).forward, KernelKind::gemm) == flops(packed.block(1).forward, KernelKind::gemm));
  // A kernel with a mask computes the whole square all the same.
  scenario.finetune.attention = AttentionKernel::sdpa_mask;
  CHECK(flops(build(llama_3_1_8b(), scenario).block(1).forward, KernelKind::attention) ==
        4.0 * 4096.0 * 4096.0 * width);
}

TEST_CASE("C8: reentrant checkpointing recomputes the whole layer") {
  Scenario scenario = scenario_of(Method::full);
  scenario.finetune.activation_checkpointing = Checkpointing::full;
  const BlockKind early = build(llama_3_1_8b(), scenario).block(1);
  scenario.finetune.checkpoint_reentrant = true;
  const BlockKind whole = build(llama_3_1_8b(), scenario).block(1);
  CHECK(flops(whole.recompute) == flops(whole.forward));
  CHECK(flops(whole.recompute) - flops(early.recompute) == 2.0 * tokens * h * mlp);
  CHECK(whole.recompute.size() == whole.forward.size());
}

TEST_CASE("C18: with every third layer checkpointed, the others keep their activations and recompute nothing") {
  Scenario scenario = scenario_of(Method::full);
  const Bytes all_kept = build(llama_3_1_8b(), scenario).block(1).memory.kept;
  scenario.finetune.activation_checkpointing = Checkpointing::full;
  scenario.finetune.checkpoint_every = 3;
  const Workload workload = build(llama_3_1_8b(), scenario);
  for (std::size_t layer = 0; layer < 32; ++layer) {
    const BlockKind& block = workload.block(layer + 1);
    CAPTURE(layer);
    CHECK(block.recompute.empty() == (layer % 3 != 0));
    CHECK(block.memory.kept == (layer % 3 == 0 ? Bytes(4096LL * 2 * 4096) : all_kept));
  }
}

TEST_CASE("C22: under autocast FP32 adapters compute in 16 bits: PEFT's cast, then autocast's") {
  Scenario scenario = scenario_of(Method::lora);
  scenario.finetune.lora.targets = {"q"};
  const BlockKind cast = build(llama_3_1_8b(), scenario).block(2);
  scenario.finetune.lora.autocast = false;
  const BlockKind plain = build(llama_3_1_8b(), scenario).block(2);
  CHECK(has(cast.forward, "lora cast"));
  CHECK(has(plain.forward, "lora cast"));
  CHECK(has(cast.forward, "lora autocast"));
  CHECK_FALSE(has(plain.forward, "lora autocast"));
  // Autocast reads x in FP32 and writes it in BF16, and casts A and B: 6 h a token, 6 r (h + h) in all. Behind B,
  // scale and sum move 3 x 2 instead of 3 x 4 bytes, and the sum in FP32 is written and cast to BF16: 2 x 4 more.
  CHECK(traffic(cast.forward, KernelKind::elementwise) - traffic(plain.forward, KernelKind::elementwise) ==
        tokens * 6.0 * h + 6.0 * 16.0 * 2.0 * h - tokens * 14.0 * h);
  // Backward: gradient to FP32, back to BF16 for the base, scaled: 2 x 2 + 4 x 4 instead of 2 + 2 bytes; autocast's
  // casts of the input's gradient and of A's and B's gradients.
  CHECK(traffic(plain.backward, KernelKind::elementwise) - traffic(cast.backward, KernelKind::elementwise) ==
        tokens * 16.0 * h - tokens * 6.0 * h - 6.0 * 16.0 * 2.0 * h);
  // It keeps x for A's gradient, and A's output, in 16 bits.
  CHECK(plain.memory.kept - cast.memory.kept == Bytes(4096LL * 2 * (4096 + 16)));
  const auto adapter_time = [](const BlockKind& block) {
    Duration sum{};
    for (const Kernel& kernel : block.forward)
      if (kernel.kind == KernelKind::adapter) sum += kernel.time;
    return sum;
  };
  CHECK(adapter_time(cast) < adapter_time(plain));
}

TEST_CASE("under autocast over FP32 weights norms and sums move FP32, and linears cast their inputs") {
  Scenario scenario = scenario_of(Method::full);
  const BlockKind plain = build(llama_3_1_8b(), scenario).block(2);
  scenario.finetune.fp32_residual = true;
  const BlockKind wide = build(llama_3_1_8b(), scenario).block(2);
  // Forward: two RMSNorms without casts of their own (-8h each), two sums (+4h), five linears behind norms (+6h);
  // backward -4h, +6h, +6h.
  CHECK(traffic(wide.forward, KernelKind::elementwise) - traffic(plain.forward, KernelKind::elementwise) ==
        tokens * (2 * -8.0 + 2 * 4.0 + 5 * 6.0) * h);
  CHECK(traffic(wide.backward, KernelKind::elementwise) - traffic(plain.backward, KernelKind::elementwise) ==
        tokens * (2 * -4.0 + 2 * 6.0 + 5 * 6.0) * h);
  // Kept: two normalised values in FP32, and five copies of norms' outputs instead of two.
  CHECK(wide.memory.kept - plain.memory.kept == Bytes(4096LL * (2 * 2 + 3 * 2) * 4096));
  CHECK(wide.memory.input.count() == 2 * plain.memory.input.count());
  // One kernel for norms: 4h forward and 6h backward more.
  scenario.finetune.elementwise = ElementwiseForm::fused;
  const BlockKind fused_wide = build(llama_3_1_8b(), scenario).block(2);
  scenario.finetune.fp32_residual = false;
  const BlockKind fused = build(llama_3_1_8b(), scenario).block(2);
  CHECK(traffic(fused_wide.forward, KernelKind::elementwise) - traffic(fused.forward, KernelKind::elementwise) ==
        tokens * (2 * 4.0 + 2 * 4.0 + 5 * 6.0) * h);
  // Nothing changes where all is in FP32 already.
  scenario.finetune.precision = Precision::fp32;
  const Bytes kept = build(llama_3_1_8b(), scenario).block(2).memory.kept;
  scenario.finetune.fp32_residual = true;
  CHECK(build(llama_3_1_8b(), scenario).block(2).memory.kept == kept);
}

TEST_CASE("C21: double quantisation costs a second launch for the nested scales") {
  Scenario scenario = scenario_of(Method::qlora);
  const std::int64_t doubly = launches(build(llama_3_1_8b(), scenario).block(2).forward);
  scenario.finetune.double_quantisation = false;
  CHECK(doubly - launches(build(llama_3_1_8b(), scenario).block(2).forward) == 7);
}
