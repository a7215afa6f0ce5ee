// What a decoder layer computes under each method and form of checkpointing (semantics C1 to C9, C18, C20 to C22).
// Llama 3.1 8B, T = 4096 tokens: P_lin = 218,103,808, I = 14336, h = 4096, q = 4096, k = 1024.
#include "catch.hpp"
#include "fixtures.hpp"

using namespace takt;
using namespace takt::test;

namespace {

constexpr double tokens = 4096.0;
constexpr double linear_flops = 2.0 * tokens * 218103808.0;
constexpr double attention_flops = 137438953472.0;
constexpr double down_flops = 2.0 * tokens * 4096.0 * 14336.0;

Scenario checkpointed(Method method, Checkpointing checkpointing) {
  Scenario scenario = scenario_of(method);
  scenario.finetune.activation_checkpointing = checkpointing;
  return scenario;
}

const BlockKind& first_layer(const Workload& workload) { return workload.block(1); }
const BlockKind& second_layer(const Workload& workload) { return workload.block(2); }

double gemm_flops(const std::vector<Kernel>& kernels) { return flops(kernels, KernelKind::gemm); }

}  // namespace

TEST_CASE("C5: full fine-tuning computes each linear three times, attention 1 + 2.5") {
  const BlockKind layer = first_layer(build(llama_3_1_8b(), scenario_of(Method::full)));
  CHECK(gemm_flops(layer.forward) == linear_flops);
  CHECK(gemm_flops(layer.backward) == 2.0 * linear_flops);
  CHECK(flops(layer.backward, KernelKind::attention) == 2.5 * attention_flops);
  CHECK(layer.recompute.empty());
  CHECK(count(layer.backward, KernelKind::gemm) == 14);  // dgrad and wgrad of seven
}

TEST_CASE("C6: LoRA backward: base dgrad once, no wgrad; adapters forward 2Tr(in+out), backward twice that") {
  const BlockKind layer = second_layer(build(llama_3_1_8b(), scenario_of(Method::lora)));
  const double adapters = 2.0 * tokens * 16.0 * 81920.0;
  CHECK(gemm_flops(layer.forward) == linear_flops);
  CHECK(gemm_flops(layer.backward) == linear_flops);
  CHECK(flops(layer.forward, KernelKind::adapter) == adapters);
  CHECK(flops(layer.backward, KernelKind::adapter) == 2.0 * adapters);
  CHECK_FALSE(has(layer.backward, "q_proj wgrad"));
}

TEST_CASE("C7: without checkpointing LoRA's first layer skips what only its input's gradient needs") {
  const Workload workload = build(llama_3_1_8b(), scenario_of(Method::lora));
  CHECK_FALSE(first_layer(workload).inputs_need_gradient);  // S11, F41
  CHECK(second_layer(workload).inputs_need_gradient);
  CHECK_FALSE(workload.block(0).has_backward);
  CHECK(workload.block(0).backward.empty());
  // 2 T h d (n_q + 2 n_kv) less in base GEMMs, 2 T r h a target less in the adapters of q, k, v
  CHECK(gemm_flops(second_layer(workload).backward) - gemm_flops(first_layer(workload).backward) ==
        2.0 * tokens * 4096.0 * 128.0 * (32.0 + 2.0 * 8.0));
  CHECK(flops(second_layer(workload).backward, KernelKind::adapter) -
            flops(first_layer(workload).backward, KernelKind::adapter) == 3.0 * 2.0 * tokens * 16.0 * 4096.0);
  CHECK(count(second_layer(workload).backward, KernelKind::elementwise) >
        count(first_layer(workload).backward, KernelKind::elementwise));
}

TEST_CASE("C7: checkpointing makes embedding outputs require gradients, so that nothing is skipped") {
  const Workload workload = build(llama_3_1_8b(), checkpointed(Method::lora, Checkpointing::full));
  CHECK(first_layer(workload).inputs_need_gradient);
  CHECK(workload.kinds.size() == 3);
  CHECK_FALSE(workload.block(0).has_backward);  // frozen all the same
}

TEST_CASE("a first layer with an adapter on down_proj only runs backward no further than that adapter") {
  Scenario scenario = scenario_of(Method::lora);
  scenario.finetune.lora.targets = {"down"};
  const BlockKind layer = first_layer(build(llama_3_1_8b(), scenario));
  CHECK(gemm_flops(layer.backward) == 0.0);
  CHECK(flops(layer.backward, KernelKind::attention) == 0.0);
  // Without A's dgrad: B wgrad and dgrad 2 T r h each, A wgrad 2 T r I
  CHECK(flops(layer.backward, KernelKind::adapter) == 2.0 * tokens * 16.0 * (2.0 * 4096.0 + 14336.0));
}

TEST_CASE("C8: full checkpointing recomputes the layer but its last GEMM") {
  const BlockKind layer = first_layer(build(llama_3_1_8b(), checkpointed(Method::full, Checkpointing::full)));
  CHECK(gemm_flops(layer.recompute) == linear_flops - down_flops);
  CHECK(flops(layer.recompute, KernelKind::attention) == attention_flops);
  CHECK(gemm_flops(layer.backward) == 2.0 * linear_flops);
}

TEST_CASE("C8: with an adapter on down_proj, base and A are recomputed, B is not") {
  const BlockKind layer = first_layer(build(llama_3_1_8b(), checkpointed(Method::lora, Checkpointing::full)));
  CHECK(gemm_flops(layer.recompute) == linear_flops);
  const double all_adapters = 2.0 * tokens * 16.0 * 81920.0;
  const double down_b = 2.0 * tokens * 16.0 * 4096.0;
  CHECK(flops(layer.recompute, KernelKind::adapter) == all_adapters - down_b);
  Scenario attention_only = checkpointed(Method::lora, Checkpointing::full);
  attention_only.finetune.lora.targets = {"q", "k", "v", "o"};
  const BlockKind unadapted = first_layer(build(llama_3_1_8b(), attention_only));
  CHECK(gemm_flops(unadapted.recompute) == linear_flops - down_flops);
}

TEST_CASE("C8: a norm behind the MLP needs the last GEMM's output, so it is recomputed") {
  const TransformerShape gemma = gemma_2_2b();
  const BlockKind layer = first_layer(build(gemma, checkpointed(Method::full, Checkpointing::full)));
  CHECK(gemm_flops(layer.recompute) == gemm_flops(layer.forward));
  CHECK(has(layer.recompute, "post-mlp norm"));
}

TEST_CASE("C18: selective checkpointing recomputes all but attention and every second GEMM") {
  const BlockKind layer = first_layer(build(llama_3_1_8b(), checkpointed(Method::full, Checkpointing::selective)));
  // kept: q, v, gate, down; recomputed: k, o, up
  CHECK(gemm_flops(layer.recompute) == 2.0 * tokens * (4096.0 * 1024.0 + 4096.0 * 4096.0 + 4096.0 * 14336.0));
  CHECK(flops(layer.recompute, KernelKind::attention) == 0.0);
  // 2h + 2q + 4n for input and attention; 2q, 2k, 2I, 2h for the GEMMs: the memory study's 4h + 4q + 2k + 2I + 4n
  CHECK(layer.memory.kept == Bytes(4096 * (4 * 4096 + 4 * 4096 + 2 * 1024 + 2 * 14336 + 4 * 32)));
  const BlockKind none = first_layer(build(llama_3_1_8b(), scenario_of(Method::full)));
  // Values that stay are not made again: attention's output, v and gate. q stays as it was before rope.
  CHECK(none.memory.kept - layer.memory.recomputed == Bytes(4096 * (2 * 4096 + 4 * 32 + 2 * 1024 + 2 * 14336)));
}

TEST_CASE("C9: eager elementwise traffic of a layer") {
  // 84h + 20q + 10I forward, 174h + 24q + 18I backward, q = (n_q + n_kv) d
  const BlockKind layer = first_layer(build(llama_3_1_8b(), scenario_of(Method::full)));
  CHECK(traffic(layer.forward, KernelKind::elementwise) ==
        tokens * (84.0 * 4096.0 + 20.0 * 5120.0 + 10.0 * 14336.0));
  CHECK(traffic(layer.backward, KernelKind::elementwise) ==
        tokens * (174.0 * 4096.0 + 24.0 * 5120.0 + 18.0 * 14336.0));
}

TEST_CASE("C10: cross-entropy moves 36 bytes a token and vocabulary entry; the head is one GEMM forward") {
  const Workload full = build(llama_3_1_8b(), scenario_of(Method::full));
  const Workload lora = build(llama_3_1_8b(), scenario_of(Method::lora));
  const BlockKind& head = full.block(33);
  const double logits = tokens * 128256.0;
  CHECK(traffic(head.forward, KernelKind::loss) + traffic(head.backward, KernelKind::loss) == 36.0 * logits);
  CHECK(gemm_flops(head.forward) == 2.0 * logits * 4096.0);
  CHECK(gemm_flops(head.backward) == 2.0 * gemm_flops(head.forward));             // C5
  CHECK(gemm_flops(lora.block(33).backward) == gemm_flops(head.forward));         // C6: frozen
}

TEST_CASE("C2: the embedding looks rows up: it reads and writes T h elements") {
  const Workload workload = build(llama_3_1_8b(), scenario_of(Method::full));
  CHECK(traffic(workload.block(0).forward, KernelKind::embedding) == 2.0 * 2.0 * tokens * 4096.0);
  CHECK(workload.block(0).has_backward);
  CHECK_FALSE(workload.block(0).inputs_need_gradient);  // S11: token ids
}

TEST_CASE("C21: QLoRA dequantises every base weight forward, recomputed and backward") {
  const Workload workload = build(llama_3_1_8b(), checkpointed(Method::qlora, Checkpointing::full));
  const BlockKind& layer = first_layer(workload);
  const double pass = 218103808.0 * (4.126953125 / 8.0 + 2.0);
  CHECK(traffic(layer.forward, KernelKind::dequantise) == Approx(pass).epsilon(1e-8));
  CHECK(traffic(layer.recompute, KernelKind::dequantise) == Approx(pass).epsilon(1e-8));
  CHECK(traffic(layer.backward, KernelKind::dequantise) == Approx(pass).epsilon(1e-8));
  // Independent of the number of tokens.
  Scenario small = checkpointed(Method::qlora, Checkpointing::full);
  small.batch.sequence_length = 128;
  const Workload short_sequence = build(llama_3_1_8b(), small);
  CHECK(traffic(first_layer(short_sequence).forward, KernelKind::dequantise) ==
        traffic(layer.forward, KernelKind::dequantise));
  CHECK(count(workload.block(33).forward, KernelKind::dequantise) == 0);  // the head stays in 16 bits
}

TEST_CASE("C22: dropout adds a copy and a mask for each target; FP32 adapters cast their input") {
  Scenario scenario = scenario_of(Method::lora);
  scenario.finetune.lora.targets = {"q"};
  scenario.finetune.lora.autocast = false;
  scenario.finetune.lora.adapter_precision = Precision::bf16;
  const BlockKind plain = second_layer(build(llama_3_1_8b(), scenario));
  CHECK_FALSE(has(plain.forward, "lora cast"));
  scenario.finetune.lora.dropout = 0.1;
  const BlockKind dropped = second_layer(build(llama_3_1_8b(), scenario));
  CHECK(traffic(dropped.forward, KernelKind::elementwise) - traffic(plain.forward, KernelKind::elementwise) ==
        tokens * (2.0 + 2.0 + 1.0) * 4096.0);
  // ln1's output was kept for q's A; now A keeps its own copy, and dropout its mask.
  CHECK(dropped.memory.kept - plain.memory.kept == Bytes(4096 * 4096));
  scenario.finetune.lora.dropout = 0.0;
  scenario.finetune.lora.adapter_precision = Precision::fp32;
  const BlockKind cast = second_layer(build(llama_3_1_8b(), scenario));
  CHECK(has(cast.forward, "lora cast"));
  // 4 in instead of 2 h, and 4 r instead of 2 r
  CHECK(cast.memory.kept - plain.memory.kept == Bytes(4096 * (2 * 4096 + 2 * 16)));
}

TEST_CASE("model FLOP are those without recomputation, hardware FLOP those of all kernels") {
  // P_mm = layers * P_lin + V h. Forward and backward 6 T P_mm, attention 3 * 2 S^2 n_q d a layer
  const double weights = 32.0 * 218103808.0 + 128256.0 * 4096.0;
  const Workload full = build(llama_3_1_8b(), scenario_of(Method::full));
  CHECK(full.model_flops.count() == Approx(6.0 * tokens * weights + 32.0 * 3.0 * attention_flops).epsilon(1e-12));
  CHECK(full.hardware_flops.count() ==
        Approx(6.0 * tokens * weights + 32.0 * 3.5 * attention_flops).epsilon(1e-12));
  const Workload again = build(llama_3_1_8b(), checkpointed(Method::full, Checkpointing::full));
  CHECK(again.model_flops == full.model_flops);
  CHECK(again.hardware_flops.count() - full.hardware_flops.count() ==
        Approx(32.0 * (linear_flops - down_flops + attention_flops)).epsilon(1e-9));
  // The attention kernel changes what the hardware does, not what the model needs.
  Scenario masked = scenario_of(Method::full);
  masked.finetune.attention = AttentionKernel::sdpa_mask;
  CHECK(build(llama_3_1_8b(), masked).model_flops == full.model_flops);
  CHECK(build(llama_3_1_8b(), masked).hardware_flops > full.hardware_flops);
}

TEST_CASE("LoRA's model FLOP: base 2 + 2, head 2 + 2, adapters 2 + 4, attention 1 + 2") {
  const Workload workload = build(llama_3_1_8b(), checkpointed(Method::lora, Checkpointing::full));
  const double weights = 32.0 * 218103808.0 + 128256.0 * 4096.0;
  CHECK(workload.model_flops.count() ==
        Approx(4.0 * tokens * weights + 6.0 * tokens * 41943040.0 + 32.0 * 3.0 * attention_flops).epsilon(1e-12));
}

TEST_CASE("a sliding window of W tokens computes S W - W^2 / 2 pairs; every n-th layer sees all") {
  TransformerShape gemma = gemma_2_2b();
  gemma.sliding_window = 1024;
  gemma.global_every = 2;
  const Workload workload = build(gemma, scenario_of(Method::full));
  const double windowed = 4.0 * (4096.0 * 1024.0 - 1024.0 * 1024.0 / 2.0) * 8.0 * 256.0;
  const double whole = 2.0 * 4096.0 * 4096.0 * 8.0 * 256.0;
  CHECK(flops(workload.block(1).forward, KernelKind::attention) == windowed);  // layer 0 is local
  CHECK(flops(workload.block(2).forward, KernelKind::attention) == whole);
  CHECK(workload.kinds.size() == 4);
  // Model FLOP: 13 layers of each, forward and twice that backward
  gemma.sliding_window = 0;
  const Workload all = build(gemma, scenario_of(Method::full));
  CHECK(all.model_flops.count() - workload.model_flops.count() == Approx(13.0 * 3.0 * (whole - windowed)));
  // A window as long as the sequence changes nothing.
  gemma.sliding_window = 4096;
  CHECK(build(gemma, scenario_of(Method::full)).model_flops == all.model_flops);
  CHECK(build(gemma, scenario_of(Method::full)).kinds.size() == 3);
}
