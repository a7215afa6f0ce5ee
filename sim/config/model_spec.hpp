// A language model's shape as its data file states it (models/*.toml), or a synthetic model of given layer times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.hpp"
#include "config/source.hpp"

namespace takt {

/// A dense decoder-only transformer. Dimensions are counts of elements.
struct TransformerShape {
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t layers = 0;
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t vocabulary = 0;
  bool tied_embeddings = false;
  bool query_key_norm = false;     ///< a norm of head_dim on queries and on keys (Qwen3)
  bool qkv_bias = false;           ///< biases on q, k, v (Qwen2)
  bool gated_mlp = true;           ///< gate, up, down; false: up, down
  /// 4: a norm after attention and after the MLP too (Gemma 2, 3); 1: attention and MLP read the same one (Phi-2)
  std::int64_t norms_per_layer = 2;
  bool linear_bias = false;        ///< biases on every linear layer of a decoder layer (GPT-2)
  bool head_bias = false;          ///< a bias on the head (Phi-2)
  bool layer_norm = false;         ///< LayerNorm with a bias (GPT-2) instead of RMSNorm
  bool fused_qkv = false;          ///< queries, keys and values are one linear layer, "qkv" (GPT-2)
  std::int64_t learned_positions = 0;  ///< rows of a learned position embedding; 0 = rotary
  std::int64_t sliding_window = 0; ///< tokens that a token attends to at most; 0 = all before it
  std::int64_t global_every = 0;   ///< every how-manieth layer ignores the window (Gemma 2: 2, Gemma 3: 6); 0 = none
};

/// Layers of given times and sizes, for oracles and thought experiments.
struct SyntheticShape {
  std::int64_t layers = 0;
  Bytes layer_bytes{};             ///< 16-bit parameters of a layer, as gathered
  Duration forward{};              ///< compute of a layer
  Duration backward{};
};

struct ModelSpec {
  std::string id;
  std::string name;
  std::optional<TransformerShape> transformer;  ///< exactly one of the two is set
  std::optional<SyntheticShape> synthetic;
  std::int64_t parameters = 0;     ///< stated count, checked against the shape; 0 = not stated
  std::string source;
  std::string file;
  SourcePlaces places;
};

}  // namespace takt
