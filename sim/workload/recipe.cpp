#include "workload/recipe.hpp"

#include "workload/precision.hpp"

namespace takt {

Recipe make_recipe(const TransformerShape& shape, const Scenario& scenario) {
  const FinetuneSettings& finetune = scenario.finetune;
  Recipe recipe;
  recipe.shape = shape;
  recipe.linears = layer_linears(shape);
  recipe.adapted.assign(recipe.linears.size(), false);
  recipe.method = finetune.method;
  recipe.checkpointing = finetune.activation_checkpointing;
  recipe.attention = finetune.attention;
  recipe.compute = finetune.precision;
  recipe.activation = activation_precision(finetune.precision);
  recipe.activation_bytes = activation_bytes(finetune.precision);
  recipe.weight_bytes = recipe.activation_bytes;
  recipe.linear_bytes = recipe.weight_bytes;
  if (finetune.method != Method::full) {
    recipe.adapted = targeted_linears(shape, finetune.lora.targets);
    recipe.rank = finetune.lora.rank;
    recipe.adapter = finetune.lora.adapter_precision;
    recipe.adapter_bytes = operand_bytes(finetune.lora.adapter_precision);
    recipe.dropout = finetune.lora.dropout;
  }
  if (finetune.method == Method::qlora)
    recipe.linear_bytes = finetune.double_quantisation ? nf4_double_quantised_bytes : nf4_bytes;
  recipe.batch = scenario.batch.micro_batch;
  recipe.sequence = scenario.batch.sequence_length;
  recipe.tokens = recipe.batch * recipe.sequence;
  return recipe;
}

bool first_layer_input_needs_gradient(const Recipe& recipe) {
  return recipe.base_trains() || recipe.checkpointing != Checkpointing::none;
}

}  // namespace takt
