// Models, a card and scenarios that the tests of this folder share.
#pragma once

#include <string>
#include <vector>

#include "config/card_spec.hpp"
#include "config/model_spec.hpp"
#include "config/scenario.hpp"
#include "workload/workload.hpp"

namespace takt::test {

TransformerShape llama_3_1_8b();
TransformerShape llama_3_70b();   ///< 3.1 and 3.3
TransformerShape llama_3_2_1b();  ///< tied embeddings
TransformerShape qwen_2_5_7b();   ///< biases on q, k, v
TransformerShape qwen_3_32b();    ///< norms on queries and keys
TransformerShape gemma_2_2b();    ///< four norms a layer
TransformerShape gpt_2();         ///< one q, k, v layer, biases, LayerNorm, learned positions
TransformerShape toy_4();         ///< four small layers of the DDP bucket vectors

ModelSpec model_of(const std::string& name, const TransformerShape& shape);

/// Round figures: 1,000 TFLOP/s in 16 bits, 4,000 GB/s; efficiencies that differ from each other.
CardSpec round_card();

/// Full fine-tuning, batch of one sequence of 4,096 tokens, no checkpointing.
Scenario scenario_of(Method method);

/// build_workload on round_card() with roofline prices; fails the test on an error.
Workload build(const TransformerShape& shape, const Scenario& scenario);

double flops(const std::vector<Kernel>& kernels);
double flops(const std::vector<Kernel>& kernels, KernelKind kind);
double traffic(const std::vector<Kernel>& kernels, KernelKind kind);
std::int64_t count(const std::vector<Kernel>& kernels, KernelKind kind);
bool has(const std::vector<Kernel>& kernels, const std::string& name);

/// Rows of a CSV file in tests/workload/data, without comment lines; quotes are honoured.
std::vector<std::vector<std::string>> csv_rows(const std::string& name);

}  // namespace takt::test
