#include "workload/recipe.hpp"

#include "workload/precision.hpp"

#include <algorithm>

namespace takt {

Recipe make_recipe(const TransformerShape& shape, const Scenario& scenario) {
  const FinetuneSettings& finetune = scenario.finetune;
  Recipe recipe;
  recipe.shape = shape;
  recipe.linears = layer_linears(shape);
  recipe.adapted.assign(recipe.linears.size(), false);
  recipe.method = finetune.method;
  recipe.checkpointing = finetune.activation_checkpointing;
  recipe.checkpoint_every = finetune.checkpoint_every;
  recipe.early_stop = !finetune.checkpoint_reentrant;
  recipe.attention = finetune.attention;
  recipe.elementwise = finetune.elementwise;
  recipe.cross_entropy = finetune.cross_entropy;
  recipe.compute = finetune.precision;
  recipe.activation = activation_precision(finetune.precision);
  recipe.activation_bytes = activation_bytes(finetune.precision);
  recipe.residual_bytes = finetune.fp32_residual ? operand_bytes(Precision::fp32) : recipe.activation_bytes;
  recipe.weight_bytes = recipe.activation_bytes;
  recipe.linear_bytes = recipe.weight_bytes;
  if (finetune.method != Method::full) {
    recipe.adapted = targeted_linears(shape, finetune.lora.targets);
    recipe.rank = finetune.lora.rank;
    recipe.adapter = finetune.lora.adapter_precision;
    recipe.adapter_bytes = operand_bytes(finetune.lora.adapter_precision);
    const bool autocast = finetune.lora.autocast && finetune.lora.adapter_precision == Precision::fp32;
    recipe.adapter_compute = autocast ? recipe.activation : recipe.adapter;
    recipe.adapter_compute_bytes = operand_bytes(recipe.adapter_compute);
    recipe.dropout = finetune.lora.dropout;
  }
  if (finetune.method == Method::qlora)
    recipe.linear_bytes = finetune.double_quantisation ? nf4_double_quantised_bytes : nf4_bytes;
  recipe.batch = scenario.batch.micro_batch;
  recipe.sequence = scenario.batch.sequence_length;
  recipe.tokens = recipe.batch * recipe.sequence;
  recipe.documents = document_lengths(scenario.batch);
  return recipe;
}

std::vector<std::int64_t> document_lengths(const BatchSettings& batch) {
  if (batch.packing.empty()) return {batch.sequence_length};
  std::vector<std::int64_t> lengths;
  std::int64_t left = batch.sequence_length;
  for (std::size_t i = 0; left > 0; i = (i + 1) % batch.packing.size()) {
    lengths.push_back(std::min(left, batch.packing[i]));
    left -= lengths.back();
  }
  return lengths;
}

bool first_layer_input_needs_gradient(const Recipe& recipe) {
  return recipe.base_trains() || recipe.checkpointing != Checkpointing::none;
}

}  // namespace takt
