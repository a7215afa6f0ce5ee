#include "fixtures.hpp"

#include "catch.hpp"
#include "support/source_dir.hpp"

#include <algorithm>
#include <fstream>

namespace takt::test {

TransformerShape llama_3_1_8b() {
  return {.hidden = 4096,
          .intermediate = 14336,
          .layers = 32,
          .query_heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .vocabulary = 128256};
}

TransformerShape llama_3_70b() {
  return {.hidden = 8192,
          .intermediate = 28672,
          .layers = 80,
          .query_heads = 64,
          .kv_heads = 8,
          .head_dim = 128,
          .vocabulary = 128256};
}

TransformerShape llama_3_2_1b() {
  return {.hidden = 2048,
          .intermediate = 8192,
          .layers = 16,
          .query_heads = 32,
          .kv_heads = 8,
          .head_dim = 64,
          .vocabulary = 128256,
          .tied_embeddings = true};
}

TransformerShape qwen_2_5_7b() {
  return {.hidden = 3584,
          .intermediate = 18944,
          .layers = 28,
          .query_heads = 28,
          .kv_heads = 4,
          .head_dim = 128,
          .vocabulary = 152064,
          .qkv_bias = true};
}

TransformerShape qwen_3_32b() {
  return {.hidden = 5120,
          .intermediate = 25600,
          .layers = 64,
          .query_heads = 64,
          .kv_heads = 8,
          .head_dim = 128,
          .vocabulary = 151936,
          .query_key_norm = true};
}

TransformerShape gemma_2_2b() {
  return {.hidden = 2304,
          .intermediate = 9216,
          .layers = 26,
          .query_heads = 8,
          .kv_heads = 4,
          .head_dim = 256,
          .vocabulary = 256000,
          .tied_embeddings = true,
          .norms_per_layer = 4};
}

TransformerShape gpt_2() {
  return {.hidden = 768,
          .intermediate = 3072,
          .layers = 12,
          .query_heads = 12,
          .kv_heads = 12,
          .head_dim = 64,
          .vocabulary = 50257,
          .tied_embeddings = true,
          .gated_mlp = false,
          .linear_bias = true,
          .layer_norm = true,
          .fused_qkv = true,
          .learned_positions = 1024};
}

TransformerShape toy_4() {
  return {.hidden = 512,
          .intermediate = 1408,
          .layers = 4,
          .query_heads = 8,
          .kv_heads = 4,
          .head_dim = 64,
          .vocabulary = 8000};
}

ModelSpec model_of(const std::string& name, const TransformerShape& shape) {
  ModelSpec model;
  model.id = name;
  model.name = name;
  model.transformer = shape;
  model.file = "models/" + name + ".toml";
  return model;
}

CardSpec round_card() {
  CardSpec card;
  card.id = "round";
  card.name = "Round Card";
  card.compute_capability = 90;
  card.sm_count = 100;
  card.dense_peak = {{Precision::bf16, FlopRate(1000e12)},
                     {Precision::fp16, FlopRate(1000e12)},
                     {Precision::tf32, FlopRate(500e12)},
                     {Precision::fp32, FlopRate(50e12)},
                     {Precision::fp8, FlopRate(2000e12)}};
  card.memory_bandwidth = Bandwidth(4000e9);
  card.efficiency = {.gemm = 0.8,
                     .attention = 0.5,
                     .attention_backward = 0.4,
                     .memory = 0.75,
                     .dequantise = 0.25,
                     .source = "round figures"};
  return card;
}

Scenario scenario_of(Method method) {
  Scenario scenario;
  scenario.file = "scenario.toml";
  scenario.finetune.method = method;
  scenario.batch = {.sequence_length = 4096, .micro_batch = 1, .gradient_accumulation = 1};
  return scenario;
}

Workload build(const TransformerShape& shape, const Scenario& scenario) {
  const KernelPricer pricer(round_card(), scenario.assumptions.compute);
  Result<Workload> workload = build_workload(model_of("model", shape), scenario, pricer);
  INFO(render(workload.diagnostics()));
  REQUIRE(workload);
  return *std::move(workload);
}

double flops(const std::vector<Kernel>& kernels) {
  double sum = 0.0;
  for (const Kernel& kernel : kernels) sum += kernel.flops.count();
  return sum;
}

double flops(const std::vector<Kernel>& kernels, KernelKind kind) {
  double sum = 0.0;
  for (const Kernel& kernel : kernels)
    if (kernel.kind == kind) sum += kernel.flops.count();
  return sum;
}

double traffic(const std::vector<Kernel>& kernels, KernelKind kind) {
  double sum = 0.0;
  for (const Kernel& kernel : kernels)
    if (kernel.kind == kind) sum += static_cast<double>(kernel.memory.count());
  return sum;
}

std::int64_t count(const std::vector<Kernel>& kernels, KernelKind kind) {
  return std::count_if(kernels.begin(), kernels.end(), [kind](const Kernel& kernel) { return kernel.kind == kind; });
}

bool has(const std::vector<Kernel>& kernels, const std::string& name) {
  return std::any_of(kernels.begin(), kernels.end(), [&](const Kernel& kernel) { return kernel.name == name; });
}

std::vector<std::vector<std::string>> csv_rows(const std::string& name) {
  std::ifstream file(takt::test::source_dir() + "/tests/workload/data/" + name);
  REQUIRE(file);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"')
        quoted = !quoted;
      else if (c == ',' && !quoted)
        cells.emplace_back();
      else
        cells.back() += c;
    }
    rows.push_back(std::move(cells));
  }
  return rows;
}

}  // namespace takt::test
