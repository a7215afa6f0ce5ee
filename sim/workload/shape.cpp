#include "workload/shape.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "config/scenario.hpp"
#include "workload/workload.hpp"

namespace takt {
namespace {

std::vector<const char*> targets_of(LinearRole role) {
  if (role == LinearRole::qkv) return {"q", "k", "v"};
  return {name_of(role)};
}

bool is_all_linear(std::vector<std::string> targets) {
  std::vector<std::string> all = LoraSettings{}.targets;
  std::sort(targets.begin(), targets.end());
  std::sort(all.begin(), all.end());
  return targets == all;
}

std::int64_t layer_parameters(const TransformerShape& shape) {
  std::int64_t count = shape.norms_per_layer * norm_elements(shape, shape.hidden);
  for (const Linear& linear : layer_linears(shape)) count += linear.weights() + (linear.bias ? linear.out : 0);
  if (shape.query_key_norm) count += 2 * shape.head_dim;
  return count;
}

}  // namespace

const char* name_of(LinearRole role) {
  switch (role) {
    case LinearRole::q: return "q";
    case LinearRole::k: return "k";
    case LinearRole::v: return "v";
    case LinearRole::qkv: return "qkv";
    case LinearRole::o: return "o";
    case LinearRole::gate: return "gate";
    case LinearRole::up: return "up";
    case LinearRole::down: return "down";
  }
  unreachable("linear layer without a name");
}

std::int64_t query_width(const TransformerShape& shape) { return shape.query_heads * shape.head_dim; }
std::int64_t key_width(const TransformerShape& shape) { return shape.kv_heads * shape.head_dim; }

std::int64_t norm_elements(const TransformerShape& shape, std::int64_t width) {
  return shape.layer_norm ? 2 * width : width;
}

std::vector<Linear> layer_linears(const TransformerShape& shape) {
  const std::int64_t h = shape.hidden;
  const std::int64_t queries = query_width(shape);
  const std::int64_t keys = key_width(shape);
  const bool attention_bias = shape.qkv_bias || shape.linear_bias;
  std::vector<Linear> linears;
  if (shape.fused_qkv) {
    linears.push_back({LinearRole::qkv, h, queries + 2 * keys, attention_bias});
  } else {
    linears.push_back({LinearRole::q, h, queries, attention_bias});
    linears.push_back({LinearRole::k, h, keys, attention_bias});
    linears.push_back({LinearRole::v, h, keys, attention_bias});
  }
  linears.push_back({LinearRole::o, queries, h, shape.linear_bias});
  if (shape.gated_mlp) linears.push_back({LinearRole::gate, h, shape.intermediate, shape.linear_bias});
  linears.push_back({LinearRole::up, h, shape.intermediate, shape.linear_bias});
  linears.push_back({LinearRole::down, shape.intermediate, h, shape.linear_bias});
  return linears;
}

std::int64_t linear_weights(const TransformerShape& shape) {
  std::int64_t count = 0;
  for (const Linear& linear : layer_linears(shape)) count += linear.weights();
  return count;
}

std::vector<std::string> target_names(const TransformerShape& shape) {
  std::vector<std::string> names;
  for (const Linear& linear : layer_linears(shape))
    for (const char* name : targets_of(linear.role)) names.emplace_back(name);
  return names;
}

std::vector<bool> targeted_linears(const TransformerShape& shape, const std::vector<std::string>& targets) {
  const bool all = is_all_linear(targets);
  std::vector<bool> targeted;
  for (const Linear& linear : layer_linears(shape)) {
    const std::vector<const char*> names = targets_of(linear.role);
    targeted.push_back(all || std::find_first_of(targets.begin(), targets.end(), names.begin(), names.end()) !=
                                  targets.end());
  }
  return targeted;
}

std::int64_t parameter_count(const TransformerShape& shape) {
  const std::int64_t embedding = shape.vocabulary * shape.hidden;
  const std::int64_t positions = shape.learned_positions * shape.hidden;
  const std::int64_t head = norm_elements(shape, shape.hidden) + (shape.tied_embeddings ? 0 : embedding) +
                            (shape.head_bias ? shape.vocabulary : 0);
  return embedding + positions + shape.layers * layer_parameters(shape) + head;
}

std::int64_t lora_parameter_count(const TransformerShape& shape, const LoraSettings& lora) {
  const std::vector<Linear> linears = layer_linears(shape);
  const std::vector<bool> targeted = targeted_linears(shape, lora.targets);
  std::int64_t widths = 0;
  for (std::size_t i = 0; i < linears.size(); ++i)
    if (targeted[i]) widths += linears[i].in + linears[i].out;
  return shape.layers * lora.rank * widths;
}

}  // namespace takt
