// What blocks keep in memory (semantics C14 to C17, M6, M9, M10). Llama 3.1 8B, 4,096 tokens, bytes a token times 4096.
#include "catch.hpp"
#include "fixtures.hpp"

#include <algorithm>

using namespace takt;
using namespace takt::test;

namespace {

Workload built(Method method, Checkpointing checkpointing, std::vector<std::string> targets = LoraSettings{}.targets) {
  Scenario scenario = scenario_of(method);
  scenario.finetune.activation_checkpointing = checkpointing;
  scenario.finetune.lora.adapter_precision = Precision::bf16;
  scenario.finetune.lora.targets = std::move(targets);
  return build(llama_3_1_8b(), scenario);
}

constexpr std::int64_t h = 4096;
constexpr std::int64_t q = 4096;
constexpr std::int64_t k = 1024;
constexpr std::int64_t n = 32;
constexpr std::int64_t mlp = 14336;

}  // namespace

TEST_CASE("C14: a layer of a full fine-tune keeps 16h + 2(q + 2k) + 2q + 4n + 8I a token") {
  const Workload workload = built(Method::full, Checkpointing::none);
  CHECK(workload.block(1).memory.kept ==
        Bytes(4096 * (16 * h + 2 * (q + 2 * k) + 2 * q + 4 * n + 8 * mlp)));
  CHECK(workload.block(1).memory.recomputed == Bytes(0));
  CHECK(workload.block(0).memory.kept == Bytes(4096 * 2 * h));  // C17
}

TEST_CASE("C15: a frozen base keeps only what adapters and activations read") {
  // norms 4h each; q, k, v, attention; gate, silu, up: 6I
  const std::int64_t base = 8 * h + 2 * (q + 2 * k) + 2 * q + 4 * n + 6 * mlp;
  // with all targets: both norm outputs, the product, and 2r an adapter
  CHECK(built(Method::lora, Checkpointing::none).block(2).memory.kept ==
        Bytes(4096 * (base + 4 * h + 2 * mlp + 7 * 2 * 16)));
  CHECK(built(Method::lora, Checkpointing::none, {"q", "v"}).block(2).memory.kept ==
        Bytes(4096 * (base + 2 * h + 2 * 2 * 16)));
  CHECK(built(Method::lora, Checkpointing::none, {"o"}).block(2).memory.kept == Bytes(4096 * (base + 2 * 16)));
}

TEST_CASE("M6: a step's activations are the embedding's, the layers' and the head's, and the head has the logits") {
  // C17 once, C14 a layer, M9: 2 and 4 bytes a logit kept, beside the final norm's input as C14 has it.
  const Workload workload = built(Method::full, Checkpointing::none);
  std::int64_t kept = 0;
  for (std::size_t i = 0; i < workload.blocks.size(); ++i) kept += workload.block(i).memory.kept.count();
  const std::int64_t layer = 16 * h + 2 * (q + 2 * k) + 2 * q + 4 * n + 8 * mlp;
  const std::int64_t head = 2 * h + 4 * h + 2 * h + 2 * h + 6 * 128256;
  CHECK(kept == 4096 * (2 * h + 32 * layer + head));
}

TEST_CASE("C16: checkpointing keeps a layer's input, 2h a token, and its activations only while it runs backward") {
  const Workload kept = built(Method::full, Checkpointing::none);
  const Workload workload = built(Method::full, Checkpointing::full);
  CHECK(workload.block(1).memory.kept == Bytes(4096 * 2 * h));
  CHECK(workload.block(1).memory.recomputed == kept.block(1).memory.kept);
  CHECK(workload.block(0).memory.kept == Bytes(0));  // it is the first layer's checkpoint
}

TEST_CASE("M9: LoRA with checkpointing peaks at the loss with 2hL + 14V + 6h a token, as measured") {
  // Mistral 7B, V = 32768 measured 734,762 B a token; the formula gives 734,720 + what V differs.
  const Workload workload = built(Method::lora, Checkpointing::full);
  const BlockMemory head = workload.block(33).memory;
  const std::int64_t checkpoints = 32 * workload.block(1).memory.kept.count();
  CHECK(checkpoints + head.kept.count() + head.backward_transient.count() ==
        4096LL * (2 * h * 32 + 14 * 128256 + 6 * h));
  // forward: bf16 logits, FP32 logits, log-softmax: 10 V
  CHECK(head.kept.count() + head.forward_transient.count() == 4096LL * (10 * 128256 + 6 * h));
}

TEST_CASE("M10: a quantised base needs room for its largest weight in 16 bits") {
  const BlockMemory lora = built(Method::lora, Checkpointing::none).block(2).memory;
  const BlockMemory qlora = built(Method::qlora, Checkpointing::none).block(2).memory;
  CHECK(qlora.forward_transient - lora.forward_transient == Bytes(2 * h * mlp));
  // Backward: gradient of the output, then the larger of one MLP value beside the weight, and, the down projection's
  // input gone, two.
  CHECK(lora.backward_transient == Bytes(4096 * (2 * h + 2 * 2 * mlp)));
  CHECK(qlora.backward_transient == Bytes(4096 * 2 * h + std::max(4096 * 2 * mlp + 2 * h * mlp, 4096 * 4 * mlp)));
}

TEST_CASE("eager attention keeps the scores: it grows with the square of the sequence") {
  Scenario scenario = scenario_of(Method::full);
  scenario.finetune.attention = AttentionKernel::eager;
  const Bytes eager = build(llama_3_1_8b(), scenario).block(1).memory.kept;
  const Bytes flash = built(Method::full, Checkpointing::none).block(1).memory.kept;
  // 6 B a score, keys and values repeated for 32 heads instead of 8; no log-sum-exp
  CHECK(eager - flash == Bytes(4096LL * (6 * n * 4096 + 2 * 2 * (q - k) - 4 * n)));
}

TEST_CASE("FP32 doubles what is kept in 16 bits and needs no FP32 copies") {
  Scenario scenario = scenario_of(Method::full);
  scenario.finetune.precision = Precision::fp32;
  const Workload workload = build(llama_3_1_8b(), scenario);
  // norms: input 4h, normalised 4h, output 4h each
  CHECK(workload.block(1).memory.kept == Bytes(4096 * (24 * h + 4 * (q + 2 * k) + 4 * q + 4 * n + 16 * mlp)));
  CHECK(workload.block(33).memory.forward_transient == Bytes(0));
}
