// The COMPUTE and OPT rows of the expected values, as the kernels and blocks of built workloads have them.
#include <map>
#include <string>

#include "catch.hpp"
#include "fixtures.hpp"
#include "workload/activations.hpp"
#include "workload/optimizer.hpp"
#include "workload/recipe.hpp"

using namespace takt;
using namespace takt::test;

namespace {

const BlockKind& layer_of(const Workload& workload) { return workload.block(2); }
const BlockKind& head_of(const Workload& workload) { return workload.block(workload.blocks.size() - 1); }

double lm_head_flops(const Workload& workload) {
  for (const Kernel& kernel : head_of(workload).forward)
    if (std::string(kernel.name) == "lm_head") return kernel.flops.count();
  return 0.0;
}

/// Everything the vectors ask of one model with a batch of one sequence of 4,096 tokens.
std::map<std::string, double> figures(const TransformerShape& shape) {
  const Workload full = build(shape, scenario_of(Method::full));
  const Workload lora = build(shape, scenario_of(Method::lora));
  Scenario checkpointed = scenario_of(Method::full);
  checkpointed.finetune.activation_checkpointing = Checkpointing::full;
  const Workload recomputing = build(shape, checkpointed);
  const Recipe recipe = make_recipe(shape, scenario_of(Method::qlora));
  const double linear = static_cast<double>(linear_weights(shape));
  const double logits = 4096.0 * static_cast<double>(shape.vocabulary);
  return {
      {"linear_params_per_layer", linear},
      {"total_params", static_cast<double>(parameter_count(shape))},
      {"fwd_flops_per_layer(linear)", flops(layer_of(full).forward, KernelKind::gemm)},
      {"fwd_flops_per_layer(attn causal)", flops(layer_of(full).forward, KernelKind::attention)},
      {"full_FT_bwd_flops_per_layer", flops(layer_of(full).backward)},
      {"LoRA_base_bwd_flops_per_layer", flops(layer_of(lora).backward, KernelKind::gemm) +
                                            flops(layer_of(lora).backward, KernelKind::attention)},
      {"lm_head_fwd_flops", lm_head_flops(full)},
      {"logits_bf16_bytes", 2.0 * logits},
      {"logits_fp32_bytes", static_cast<double>(head_of(full).memory.forward_transient.count())},
      {"act_bytes_per_layer full-FT HF-eager bf16 FA2 no-AC", static_cast<double>(layer_of(full).memory.kept.count())},
      {"act_bytes_per_layer with AC (saved input only)",
       static_cast<double>(layer_of(recomputing).memory.kept.count())},
      {"nf4_double_quant_bytes_linear_per_layer", linear * recipe.linear_bytes},
  };
}

}  // namespace

TEST_CASE("COMPUTE vectors (C1 to C6, C14, C16, C20, M9)") {
  const std::map<std::string, TransformerShape> shapes = {{"Llama-3.1-8B", llama_3_1_8b()},
                                                          {"Llama-3.2-1B", llama_3_2_1b()},
                                                          {"Qwen2.5-7B", qwen_2_5_7b()},
                                                          {"Llama-3.1-70B", llama_3_70b()}};
  std::map<std::string, std::map<std::string, double>> computed;
  for (const auto& [name, shape] : shapes) computed[name] = figures(shape);
  int rows = 0;
  for (const std::vector<std::string>& row : csv_rows("compute_vectors.csv")) {
    if (row[0] != "COMPUTE") continue;
    const std::string model = row[1].substr(0, row[1].find(' '));
    INFO(row[1] << ": " << row[2] << " (" << row[5] << ")");
    REQUIRE(computed.contains(model));
    REQUIRE(computed[model].contains(row[2]));
    CHECK(computed[model][row[2]] == Approx(std::stod(row[3])).epsilon(1e-9));
    ++rows;
  }
  CHECK(rows == 48);
}

TEST_CASE("OPT vectors (O1, O2, O3, O6)") {
  const OptimizerCost fused = optimizer_cost(Optimizer::adamw, OptimizerForm::fused, MasterFormat::fp32);
  const OptimizerCost passes = optimizer_cost(Optimizer::adamw, OptimizerForm::foreach_, MasterFormat::fp32);
  const OptimizerCost small = optimizer_cost(Optimizer::adamw_8bit, OptimizerForm::fused, MasterFormat::fp32);
  const OptimizerCost small_bf16 = optimizer_cost(Optimizer::adamw_8bit, OptimizerForm::fused, MasterFormat::bf16);
  const std::map<std::string, double> computed = {
      {"AdamW fused fp32 p,g,m,v bytes_touched_per_param", fused.traffic},
      {"AdamW foreach fp32 bytes_touched_per_param", passes.traffic},
      {"AdamW foreach fp32 temp_bytes_per_param", passes.temporary_bytes},
      {"bnb AdamW8bit fp32 p,g bytes_touched_per_param", small.traffic},
      {"bnb AdamW8bit bf16 p,g bytes_touched_per_param", small_bf16.traffic},
      {"clip_grad_norm fp32 bytes_touched_per_param", clipping_traffic}};
  int rows = 0;
  for (const std::vector<std::string>& row : csv_rows("compute_vectors.csv")) {
    if (row[0] != "OPT") continue;
    INFO(row[1] << ": " << row[2]);
    CHECK(computed.at(row[1] + " " + row[2]) == std::stod(row[3]));
    ++rows;
  }
  CHECK(rows == 6);
  // O1: bf16 weight, gradient and moments: 14; SGD without momentum reads two and writes one.
  CHECK(optimizer_cost(Optimizer::adamw, OptimizerForm::fused, MasterFormat::bf16).traffic == 14.0);
  CHECK(optimizer_cost(Optimizer::sgd, OptimizerForm::fused, MasterFormat::fp32).traffic == 12.0);
}
