// Hugging Face's config.json as a model's shape. A family of architectures is a row of `families()`: how its keys are
// called, what its library fills in where a key is missing, and what its code has that no key says (biases, norms).
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/json.hpp"
#include "config/json_places.hpp"
#include "config/key_table.hpp"
#include "config/reader.hpp"

namespace takt {
namespace {

constexpr std::int64_t most_elements = 1 << 24;  ///< of a dimension; above it is a slip

/// The members of one object of the file, read by key. Each problem becomes an error at the member's value.
class ConfigObject {
 public:
  /// `prefix` is the object's path in the file with a dot at its end, or empty.
  ConfigObject(const Json& object, std::string prefix, const SourceText& source, const SourcePlaces& places,
               Reading& reading)
      : object_(object), prefix_(std::move(prefix)), file_(source.file), places_(places), reading_(reading) {}

  bool has(const std::string& key) const { return member(key) != nullptr; }
  SourcePlace place(const std::string& key) const { return place_of(places_, prefix_ + key, file_); }
  void error(const std::string& key, std::string message, std::string hint) const {
    reading_.error(place(key), std::move(message), std::move(hint));
  }

  /// A dimension: 1 or more. Missing or null: `fallback`, or an error without one.
  std::int64_t dimension(const std::string& key, std::optional<std::int64_t> fallback = std::nullopt) const {
    const Json* value = member(key);
    if (value == nullptr) {
      if (!fallback) reading_.error({file_, 0, 0, {}}, fmt::format("{}{} is missing", prefix_, key), "");
      return fallback.value_or(1);
    }
    const auto* number = std::get_if<std::int64_t>(&value->value);
    if (number != nullptr && *number >= 1 && *number <= most_elements) return *number;
    error(key, fmt::format("{}{} must be a whole number from 1 to {}", prefix_, key, most_elements), "");
    return fallback.value_or(1);
  }

  bool flag(const std::string& key, std::optional<bool> fallback) const {
    const Json* value = member(key);
    if (value == nullptr) return fallback.value_or(false);
    if (const auto* content = std::get_if<bool>(&value->value)) return *content;
    error(key, fmt::format("{}{} must be true or false", prefix_, key), "");
    return false;
  }

  std::string word(const std::string& key) const {
    const Json* value = member(key);
    const auto* content = value != nullptr ? std::get_if<std::string>(&value->value) : nullptr;
    return content != nullptr ? *content : std::string();
  }

 private:
  /// Null counts as missing, as it does for the library.
  const Json* member(const std::string& key) const {
    const Json* value = object_.find(key);
    return value != nullptr && std::holds_alternative<std::nullptr_t>(value->value) ? nullptr : value;
  }

  const Json& object_;
  std::string prefix_;
  const std::string& file_;
  const SourcePlaces& places_;
  Reading& reading_;
};

/// What the library fills in for a key that a file leaves out. Zero: derived from other keys, or an error.
struct Defaults {
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;        ///< 0: as many as query heads
  std::int64_t head_dim = 0;        ///< 0: hidden / query heads
  std::int64_t vocabulary = 0;
  std::int64_t sliding_window = 0;
  bool tied_embeddings = false;
};

/// Keys that most families share.
TransformerShape common_shape(const ConfigObject& config, const Defaults& defaults) {
  const auto if_set = [](std::int64_t value) { return value > 0 ? std::optional(value) : std::nullopt; };
  TransformerShape shape;
  shape.hidden = config.dimension("hidden_size");
  shape.intermediate = config.dimension("intermediate_size");
  shape.layers = config.dimension("num_hidden_layers");
  shape.query_heads = config.dimension("num_attention_heads", if_set(defaults.query_heads));
  shape.kv_heads = config.dimension("num_key_value_heads",
                                    defaults.kv_heads > 0 ? defaults.kv_heads : shape.query_heads);
  const std::int64_t derived = std::max<std::int64_t>(shape.hidden / shape.query_heads, 1);
  shape.head_dim = config.dimension("head_dim", defaults.head_dim > 0 ? defaults.head_dim : derived);
  shape.vocabulary = config.dimension("vocab_size", if_set(defaults.vocabulary));
  shape.tied_embeddings = config.flag("tie_word_embeddings", defaults.tied_embeddings);
  return shape;
}

/// attention_bias covers q, k, v and o, mlp_bias the rest. Only all or none can be described.
void read_biases(const ConfigObject& config, TransformerShape& shape) {
  const bool attention = config.flag("attention_bias", false);
  const bool mlp = config.flag("mlp_bias", false);
  shape.linear_bias = attention && mlp;
  if (attention == mlp) return;
  config.error(attention ? "attention_bias" : "mlp_bias",
               "biases on all linear layers of attention but not of the MLP, or the other way, are not described here",
               "");
}

TransformerShape llama(const ConfigObject& config) {
  TransformerShape shape = common_shape(config, {});
  read_biases(config, shape);
  return shape;
}

TransformerShape mistral(const ConfigObject& config) {
  TransformerShape shape = common_shape(config, {.kv_heads = 8});
  if (config.has("sliding_window")) shape.sliding_window = config.dimension("sliding_window");
  return shape;
}

/// Both switch their sliding window off unless told otherwise; then it holds for the layers from max_window_layers on,
/// which no file of the families uses.
void refuse_window(const ConfigObject& config) {
  if (config.flag("use_sliding_window", false))
    config.error("use_sliding_window", "a sliding window in some of the layers of a Qwen model is not described here",
                 "set use_sliding_window to false");
}

TransformerShape qwen2(const ConfigObject& config) {
  TransformerShape shape = common_shape(config, {});
  shape.qkv_bias = true;
  refuse_window(config);
  return shape;
}

TransformerShape qwen3(const ConfigObject& config) {
  TransformerShape shape = common_shape(config, {.head_dim = 128});
  shape.query_key_norm = true;
  if (config.flag("attention_bias", false))
    config.error("attention_bias", "biases on attention are not described here", "");
  refuse_window(config);
  return shape;
}

TransformerShape gemma(const ConfigObject& config) {
  return common_shape(config, {.head_dim = 256, .tied_embeddings = true});
}

TransformerShape gemma2(const ConfigObject& config) {
  TransformerShape shape =
      common_shape(config, {.query_heads = 8, .kv_heads = 4, .head_dim = 256, .tied_embeddings = true});
  shape.norms_per_layer = 4;
  shape.sliding_window = config.dimension("sliding_window", 4096);
  shape.global_every = 2;
  return shape;
}

/// The library's defaults are those of the 4B model, whose files leave them out.
TransformerShape gemma3(const ConfigObject& config) {
  TransformerShape shape = common_shape(config, {.query_heads = 8, .kv_heads = 4, .head_dim = 256,
                                                 .vocabulary = 262208, .tied_embeddings = true});
  shape.query_key_norm = true;
  shape.norms_per_layer = 4;
  shape.sliding_window = config.dimension("sliding_window", 4096);
  shape.global_every = config.dimension("sliding_window_pattern", 6);
  return shape;
}

/// Phi-3 and Phi-4. The checkpoint joins q, k, v and gate, up; the shape has the same weights as five linear layers.
TransformerShape phi3(const ConfigObject& config) {
  TransformerShape shape = common_shape(config, {});
  if (config.has("sliding_window")) shape.sliding_window = config.dimension("sliding_window");
  return shape;
}

/// Phi-1.5 and Phi-2: attention and MLP read one norm, and everything has a bias.
TransformerShape phi(const ConfigObject& config) {
  TransformerShape shape = common_shape(config, {});
  shape.gated_mlp = false;
  shape.linear_bias = true;
  shape.head_bias = true;
  shape.layer_norm = true;
  shape.norms_per_layer = 1;
  if (config.flag("qk_layernorm", false))
    config.error("qk_layernorm", "norms on queries and keys are not described here", "");
  return shape;
}

TransformerShape gpt2(const ConfigObject& config) {
  TransformerShape shape;
  shape.hidden = config.dimension("n_embd");
  shape.layers = config.dimension("n_layer");
  shape.query_heads = config.dimension("n_head");
  shape.kv_heads = shape.query_heads;
  shape.head_dim = std::max<std::int64_t>(shape.hidden / shape.query_heads, 1);
  shape.intermediate = config.dimension("n_inner", 4 * shape.hidden);
  shape.vocabulary = config.dimension("vocab_size");
  shape.learned_positions = config.dimension("n_positions", 1024);
  shape.tied_embeddings = config.flag("tie_word_embeddings", true);
  shape.gated_mlp = false;
  shape.linear_bias = true;
  shape.layer_norm = true;
  shape.fused_qkv = true;
  return shape;
}

struct Family {
  std::string_view model_type;
  TransformerShape (*read)(const ConfigObject&);
};

constexpr std::array<Family, 11> families = {{{"llama", llama},
                                              {"mistral", mistral},
                                              {"qwen2", qwen2},
                                              {"qwen3", qwen3},
                                              {"gemma", gemma},
                                              {"gemma2", gemma2},
                                              {"gemma3_text", gemma3},
                                              {"gemma3", gemma3},
                                              {"phi3", phi3},
                                              {"phi", phi},
                                              {"gpt2", gpt2}}};

/// Architectures that read a whole text at once, with or without a decoder behind.
constexpr std::array<std::string_view, 18> encoders = {
    "albert", "bart", "bert", "clip", "deberta", "deberta-v2", "distilbert", "electra", "mbart", "modernbert", "mt5",
    "roberta", "siglip", "t5", "vit", "wav2vec2", "whisper", "xlm-roberta"};

/// Keys that count experts, whatever the architecture is called.
constexpr std::array<const char*, 4> expert_counts = {"num_local_experts", "num_experts", "n_routed_experts",
                                                      "moe_num_experts"};

constexpr const char* known_families = "known are llama, mistral, qwen2, qwen3, gemma, gemma2, gemma3, phi, phi3, gpt2";

/// An error and true if the file describes something that is no dense decoder.
bool refused(const ConfigObject& config, const std::string& model_type) {
  for (const char* key : expert_counts) {
    if (!config.has(key)) continue;
    config.error(key, fmt::format("{} is a mixture of experts: only dense models can be simulated", model_type),
                 "its layers compute with some of their weights, which needs a router and expert parallelism");
    return true;
  }
  const bool encoder = std::find(encoders.begin(), encoders.end(), model_type) != encoders.end();
  if (encoder || config.flag("is_encoder_decoder", false)) {
    config.error(encoder ? "model_type" : "is_encoder_decoder",
                 fmt::format("{} is an encoder: only decoder-only language models can be simulated", model_type),
                 known_families);
    return true;
  }
  return false;
}

const Family* find_family(const ConfigObject& config, const std::string& model_type) {
  for (const Family& family : families)
    if (family.model_type == model_type) return &family;
  std::vector<std::string> names;
  for (const Family& family : families) names.emplace_back(family.model_type);
  const std::optional<std::string> near = did_you_mean(model_type, names);
  if (model_type.empty()) {
    config.error("model_type", "this is no configuration of a model: model_type is missing or no text", "");
  } else {
    config.error("model_type", fmt::format("the architecture \"{}\" is not known", model_type),
                 near ? fmt::format("did you mean \"{}\"? ", *near) + known_families : known_families);
  }
  return nullptr;
}

/// "Llama-3.1-8B/config.json" -> "Llama-3.1-8B"; "qwen.json" -> "qwen".
std::string model_id(const std::string& file) {
  const std::string stem = file_stem(file);
  if (stem != "config") return stem;
  const std::size_t end = file.rfind('/');
  if (end == std::string::npos || end == 0) return stem;
  const std::size_t start = file.rfind('/', end - 1);
  return file.substr(start == std::string::npos ? 0 : start + 1, end - (start == std::string::npos ? 0 : start + 1));
}

void check_heads(const ConfigObject& config, const TransformerShape& shape, Reading& reading) {
  if (has_error(reading.diagnostics)) return;
  if (shape.query_heads % shape.kv_heads != 0)
    config.error("num_key_value_heads",
                 fmt::format("{} key and value heads do not divide {} query heads", shape.kv_heads, shape.query_heads),
                 "");
}

/// Dimensions, from the file's object or, in a model with a vision tower, from its text part.
TransformerShape read_shape(const Family& family, const Json& root, const SourceText& source,
                            const SourcePlaces& places, Reading& reading) {
  const Json* text = root.find("text_config");
  const ConfigObject config(text != nullptr ? *text : root, text != nullptr ? "text_config." : "", source, places,
                            reading);
  if (root.find("vision_config") != nullptr)
    reading.warning(place_of(places, "vision_config", source.file),
                    "the vision tower is left out: only the text model is simulated");
  TransformerShape shape = family.read(config);
  check_heads(config, shape, reading);
  return shape;
}

}  // namespace

Result<ModelSpec> read_hf_config(const SourceText& source) {
  const Result<Json> root = parse_json(source);
  if (!root) return root.diagnostics();
  Reading reading;
  if (!std::holds_alternative<Json::Object>(root->value)) {
    reading.error({source.file, 0, 0, {}}, "this is no configuration of a model: it is no JSON object");
    return std::move(reading.diagnostics);
  }
  const SourcePlaces places = json_places(source);
  const ConfigObject config(*root, "", source, places, reading);
  const std::string model_type = config.word("model_type");
  const Family* family = refused(config, model_type) ? nullptr : find_family(config, model_type);
  if (family == nullptr) return std::move(reading.diagnostics);
  ModelSpec model;
  model.transformer = read_shape(*family, *root, source, places, reading);
  model.id = model_id(source.file);
  model.name = model.id;
  model.source = "Hugging Face configuration " + source.file;
  model.file = source.file;
  return finish(std::move(model), std::move(reading));
}

}  // namespace takt
