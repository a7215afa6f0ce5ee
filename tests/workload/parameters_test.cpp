// Parameter tensors: names and registration order, arrival order of gradients, counts of adapters.
#include "catch.hpp"
#include "fixtures.hpp"
#include "workload/shape.hpp"

using namespace takt;
using namespace takt::test;

namespace {

std::string names_of(const BlockKind& block) {
  std::string text;
  for (const Parameter& parameter : block.parameters) text += (text.empty() ? "" : " ") + parameter.name;
  return text;
}

std::string arrival_of(const BlockKind& block) {
  std::string text;
  for (const std::size_t i : gradient_arrival(block)) text += (text.empty() ? "" : " ") + block.parameters[i].name;
  return text;
}

std::int64_t elements_of(const Workload& workload) {
  std::int64_t sum = 0;
  for (const std::uint32_t id : workload.blocks)
    for (const Parameter& parameter : workload.kinds[id].parameters) sum += parameter.elements();
  return sum;
}

Workload lora(const TransformerShape& shape, std::int64_t rank, std::vector<std::string> targets) {
  Scenario scenario = scenario_of(Method::lora);
  scenario.finetune.lora.rank = rank;
  scenario.finetune.lora.targets = std::move(targets);
  return build(shape, scenario);
}

}  // namespace

TEST_CASE("the tensors of a model are its parameters, each once") {
  for (const TransformerShape& shape :
       {llama_3_1_8b(), llama_3_2_1b(), qwen_2_5_7b(), qwen_3_32b(), gemma_2_2b()}) {
    const Workload workload = build(shape, scenario_of(Method::full));
    CHECK(elements_of(workload) == parameter_count(shape));
    CHECK(workload.trainable_parameters == parameter_count(shape));
  }
  Scenario scenario = scenario_of(Method::full);
  scenario.batch.sequence_length = 1024;
  CHECK(elements_of(build(gpt_2(), scenario)) == 124439808);
}

TEST_CASE("registration order is that of the modules") {
  const Workload llama = build(llama_3_1_8b(), scenario_of(Method::full));
  CHECK(names_of(llama.block(0)) == "embed");
  CHECK(names_of(llama.block(1)) == "q.w k.w v.w o.w gate.w up.w down.w ln1.w ln2.w");
  CHECK(names_of(llama.block(33)) == "norm lm_head");
  CHECK(llama.block(1).parameters[1].rows == 1024);  // k: rows are outputs
  CHECK(llama.block(1).parameters[1].columns == 4096);
  const Workload tied = build(llama_3_2_1b(), scenario_of(Method::full));
  CHECK(names_of(tied.block(17)) == "norm");
  const Workload qwen = build(qwen_2_5_7b(), scenario_of(Method::full));
  CHECK(names_of(qwen.block(1)) == "q.w q.b k.w k.b v.w v.b o.w gate.w up.w down.w ln1.w ln2.w");
  const Workload normed = build(qwen_3_32b(), scenario_of(Method::full));
  CHECK(names_of(normed.block(1)) == "q.w k.w v.w o.w q_norm.w k_norm.w gate.w up.w down.w ln1.w ln2.w");
}

TEST_CASE("D5: gradients arrive from last used to first used, a bias before its weight") {
  const Workload qwen = build(qwen_2_5_7b(), scenario_of(Method::full));
  CHECK(arrival_of(qwen.block(1)) == "down.w up.w gate.w ln2.w o.w v.b v.w k.b k.w q.b q.w ln1.w");
  CHECK(arrival_of(qwen.block(29)) == "lm_head norm");
  CHECK(arrival_of(qwen.block(0)) == "embed");
}

TEST_CASE("D8: only adapters train under LoRA, and B arrives before A") {
  const Workload workload = lora(llama_3_1_8b(), 8, {"q", "v"});
  CHECK(names_of(workload.block(1)) ==
        "q.w q.lora_A q.lora_B k.w v.w v.lora_A v.lora_B o.w gate.w up.w down.w ln1.w ln2.w");
  CHECK(arrival_of(workload.block(1)) == "v.lora_B v.lora_A q.lora_B q.lora_A");
  CHECK(arrival_of(workload.block(0)).empty());
  const Parameter& a = workload.block(1).parameters[1];
  CHECK(a.rows == 8);
  CHECK(a.columns == 4096);
  CHECK(a.bytes == 4.0);  // adapters stay in FP32 on a 16-bit base
  CHECK(a.gradient_bytes == 4.0);
  CHECK(workload.block(1).parameters[0].gradient_bytes == 0.0);
  CHECK(workload.reduce_bytes == 4.0);
}

TEST_CASE("trainable elements of adapters: rank (in + out) a target") {
  // all linear of the 8B layer: q 8192, k 5120, v 5120, o 8192, gate, up, down 18432 each = 81920; * 16 * 32
  const LoraSettings all;
  CHECK(lora_parameter_count(llama_3_1_8b(), all) == 41943040);
  CHECK(lora_parameter_count(llama_3_70b(), all) == 207093760);
  CHECK(build(llama_3_70b(), scenario_of(Method::lora)).trainable_parameters == 207093760);
  const std::vector<std::string> qv = {"q", "v"};
  CHECK(lora(llama_3_1_8b(), 8, qv).trainable_parameters == 3407872);
  CHECK(lora(llama_3_1_8b(), 64, qv).trainable_parameters == 27262976);
  CHECK(lora(llama_3_1_8b(), 64, all.targets).trainable_parameters == 167772160);
  // parameters of the model do not count adapters
  CHECK(lora(llama_3_1_8b(), 64, qv).parameters == 8030261248);
}

TEST_CASE("all-linear means every linear layer a shape has") {
  // GPT-2: qkv 3072, o 1536, up and down 3840 each, one target each; * 16 * 12
  CHECK(lora_parameter_count(gpt_2(), LoraSettings{}) == 2359296);
  // q, k and v are one layer there: each of the names is that layer.
  CHECK(target_names(gpt_2()) == std::vector<std::string>{"q", "k", "v", "o", "up", "down"});
  CHECK(lora_parameter_count(gpt_2(), {.rank = 16, .targets = {"q", "v"}}) == 12 * 16 * (768 + 2304));
}
