// models/*.toml: a transformer's shape, or a synthetic model of given layer times. `kind` says which table holds.
#include <fmt/format.h>

#include "config/key_table.hpp"
#include "config/toml_text.hpp"

namespace takt {
namespace {

enum class ModelKind { transformer, synthetic };

/// A model file as written; both shapes stand side by side so that one row binds to one member.
struct ModelFile {
  ModelSpec spec;
  ModelKind kind = ModelKind::transformer;
  TransformerShape transformer;
  SyntheticShape synthetic;
};

constexpr KeyMaker<ModelFile> key;
constexpr std::int64_t most_layers = 4096;

Choice<ModelKind> model_kinds() {
  return {{{"transformer", ModelKind::transformer}, {"synthetic", ModelKind::synthetic}}};
}

const KeyTable<ModelFile>& transformer_keys() {
  const auto shape = [](auto member) { return at(&ModelFile::transformer, member); };
  const Integer width{1, 1 << 20};
  static const KeyTable<ModelFile> table({
      key.required("name", at(&ModelFile::spec, &ModelSpec::name), Text{}, "as its publisher writes it"),
      key.required("kind", at(&ModelFile::kind), model_kinds(), "which of the two kinds of model files this is"),
      key.required("hidden", shape(&TransformerShape::hidden), width, "width of the residual stream"),
      key.required("intermediate", shape(&TransformerShape::intermediate), width, "width inside the MLP"),
      key.required("layers", shape(&TransformerShape::layers), Integer{1, most_layers}, "decoder layers"),
      key.required("query_heads", shape(&TransformerShape::query_heads), Integer{1, 4096}, "attention heads"),
      key.required("kv_heads", shape(&TransformerShape::kv_heads), Integer{1, 4096}, "heads of keys and values"),
      key.required("head_dim", shape(&TransformerShape::head_dim), Integer{1, 4096}, "width of one head"),
      key.required("vocabulary", shape(&TransformerShape::vocabulary), Integer{1, 1 << 24}, "rows of the embedding"),
      key.optional("tied_embeddings", shape(&TransformerShape::tied_embeddings), Flag{},
                   "the head shares the embedding's weight"),
      key.optional("query_key_norm", shape(&TransformerShape::query_key_norm), Flag{},
                   "a norm of head_dim on queries and on keys (Qwen3)"),
      key.optional("qkv_bias", shape(&TransformerShape::qkv_bias), Flag{}, "biases on q, k, v (Qwen2)"),
      key.optional("gated_mlp", shape(&TransformerShape::gated_mlp), Flag{},
                   "MLP of gate, up and down; false: up and down"),
      key.optional("norms_per_layer", shape(&TransformerShape::norms_per_layer), Integer{1, 4},
                   "norms of width hidden in a layer: 1 for attention and MLP together, 4 also behind each"),
      key.optional("linear_bias", shape(&TransformerShape::linear_bias), Flag{},
                   "biases on every linear layer of a decoder layer (GPT-2)"),
      key.optional("head_bias", shape(&TransformerShape::head_bias), Flag{}, "a bias on the head (Phi-2)"),
      key.optional("layer_norm", shape(&TransformerShape::layer_norm), Flag{},
                   "LayerNorm with a bias (GPT-2) instead of RMSNorm"),
      key.optional("fused_qkv", shape(&TransformerShape::fused_qkv), Flag{},
                   "queries, keys and values are one linear layer, \"qkv\" (GPT-2)"),
      key.optional("learned_positions", shape(&TransformerShape::learned_positions), Integer{0, 1 << 24},
                   "rows of a learned position embedding; 0 = rotary"),
      key.optional("sliding_window", shape(&TransformerShape::sliding_window), Integer{0, 1 << 24},
                   "tokens that a token attends to at most; 0 = all before it"),
      key.optional("global_every", shape(&TransformerShape::global_every), Integer{0, most_layers},
                   "every how-manieth layer ignores the window (Gemma 2: 2, Gemma 3: 6); 0 = none"),
      key.optional("parameters", at(&ModelFile::spec, &ModelSpec::parameters),
                   Integer{0, 100'000'000'000'000}, "stated count, checked against the shape; 0 = not stated"),
      key.required("source", at(&ModelFile::spec, &ModelSpec::source), Text{}, "where the shape comes from"),
  });
  return table;
}

const KeyTable<ModelFile>& synthetic_keys() {
  const Amount<Duration> time{Duration(0), std::chrono::hours(1)};
  static const KeyTable<ModelFile> table({
      key.required("name", at(&ModelFile::spec, &ModelSpec::name), Text{}, "for reports"),
      key.required("kind", at(&ModelFile::kind), model_kinds(), "which of the two kinds of model files this is"),
      key.required("layers", at(&ModelFile::synthetic, &SyntheticShape::layers), Integer{1, most_layers}, "equal layers"),
      key.required("layer_bytes", at(&ModelFile::synthetic, &SyntheticShape::layer_bytes),
                   Amount<Bytes>{Bytes(2), Bytes(1'000'000'000'000'000)}, "16-bit parameters of a layer, as gathered"),
      key.required("forward", at(&ModelFile::synthetic, &SyntheticShape::forward), time, "compute of a layer, forward"),
      key.required("backward", at(&ModelFile::synthetic, &SyntheticShape::backward), time,
                   "compute of a layer, backward"),
      key.optional("parameters", at(&ModelFile::spec, &ModelSpec::parameters),
                   Integer{0, 100'000'000'000'000}, "stated count; 0 = not stated"),
      key.required("source", at(&ModelFile::spec, &ModelSpec::source), Text{}, "where the figures come from"),
  });
  return table;
}

void check_transformer(const TransformerShape& shape, const SourceText& source, Reading& reading) {
  if (!reading.is_set("query_heads") || !reading.is_set("kv_heads")) return;
  if (shape.query_heads % shape.kv_heads == 0) return;
  reading.error(place_of(reading.places, "kv_heads", source.file),
                fmt::format("{} key and value heads do not divide {} query heads", shape.kv_heads, shape.query_heads),
                "grouped-query attention gives each key and value head the same number of query heads");
}

/// The kind that a document states, so that its keys are held against the right table. A wrong or missing kind is left
/// to the transformer's table to report.
ModelKind kind_of(const Document& document) {
  const Node* node = find_path(document.root, "kind");
  const auto* word = node ? node->as<std::string>() : nullptr;
  return word && *word == "synthetic" ? ModelKind::synthetic : ModelKind::transformer;
}

}  // namespace

Result<ModelSpec> read_model(const SourceText& source) {
  if (source.file.ends_with(".json")) return read_hf_config(source);
  const Result<Document> document = parse_toml(source);
  if (!document) return document.diagnostics();
  ModelFile file;
  Reading reading;
  if (kind_of(*document) == ModelKind::synthetic) {
    synthetic_keys().read(document->root, "", file, reading);
    file.spec.synthetic = file.synthetic;
  } else {
    transformer_keys().read(document->root, "", file, reading);
    check_transformer(file.transformer, source, reading);
    file.spec.transformer = file.transformer;
  }
  file.spec.id = file_stem(source.file);
  file.spec.file = source.file;
  file.spec.places = reading.places;
  return finish(std::move(file.spec), std::move(reading));
}

std::vector<KeyDescription> model_key_reference() {
  std::vector<KeyDescription> rows = transformer_keys().describe();
  for (KeyDescription& row : synthetic_keys().describe()) {
    row.meaning += " (kind = \"synthetic\")";
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace takt
