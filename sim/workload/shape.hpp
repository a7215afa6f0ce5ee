// What a transformer consists of: linear layers, norms and embeddings, as lists and as counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/model_spec.hpp"

namespace takt {

/// Where a linear layer stands in a decoder layer.
enum class LinearRole : std::uint8_t { q, k, v, qkv, o, gate, up, down };

/// A linear layer of a decoder layer: `out` rows by `in` columns.
struct Linear {
  LinearRole role = LinearRole::q;
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool bias = false;

  std::int64_t weights() const { return in * out; }
};

/// "q", "gate", ...: names of parameters, and of LoRA targets but for "qkv".
const char* name_of(LinearRole role);

/// In the order in which the forward pass uses them (which is the order of registration too).
std::vector<Linear> layer_linears(const TransformerShape& shape);

/// Linear weights of one decoder layer, without biases (semantics C1).
std::int64_t linear_weights(const TransformerShape& shape);

/// Elements of one norm over `width`: a weight, and a bias if it is a LayerNorm.
std::int64_t norm_elements(const TransformerShape& shape, std::int64_t width);

/// Width of all query heads, and of the key (or value) heads.
std::int64_t query_width(const TransformerShape& shape);
std::int64_t key_width(const TransformerShape& shape);

/// The LoRA targets this shape has, in order. Where q, k and v are one linear layer, each of the three names it.
std::vector<std::string> target_names(const TransformerShape& shape);

/// Which of layer_linears(shape) the targets name. All seven names of "all-linear" (LoraSettings) mean every linear
/// layer of any shape. Unknown names select nothing; build_workload reports them.
std::vector<bool> targeted_linears(const TransformerShape& shape, const std::vector<std::string>& targets);

}  // namespace takt
