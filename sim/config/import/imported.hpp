// Scenario keys from the configuration files that people already have: accelerate's FSDP and DeepSpeed files, DeepSpeed's
// own JSON, PEFT's adapter_config.json and the TrainingArguments of Hugging Face's Trainer (or the YAML of TRL and of
// the alignment handbook, which has the same fields).
//
// What changes the time or memory of a step and has no key here is refused, because a scenario without it would answer
// another question. What changes neither is left out, with the reason.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/source.hpp"

namespace takt {

enum class ConfigKind { accelerate, deepspeed, peft, training_arguments };

/// One scenario key that a file implies.
struct ImportedKey {
  enum class Rank {
    default_,  ///< what the program does where its file says nothing
    stated,    ///< the file says so
  };
  std::string key;    ///< "finetune.lora.rank"
  std::string toml;   ///< its value, as TOML
  Rank rank = Rank::stated;
  SourcePlace place;  ///< of the field that implies it
  std::string said;   ///< that field: "fsdp_sharding_strategy: FULL_SHARD"
};

/// A field without a key, and why.
struct LeftOutField {
  SourcePlace place;
  std::string field;
  std::string reason;
};

/// A key that a program derives from the model's hidden size h: square h^2 + linear h, cut to a whole number.
struct KeyByHiddenSize {
  std::string key;
  double square = 0.0;
  double linear = 0.0;
  SourcePlace place;
  std::string said;
};

/// What one file implies.
struct ImportedConfig {
  ConfigKind kind = ConfigKind::accelerate;
  std::string file;
  std::vector<ImportedKey> keys;        ///< in the order in which they were found
  std::vector<LeftOutField> left_out;   ///< ditto
  std::vector<KeyByHiddenSize> by_hidden_size;
  std::string base_model;               ///< the model it names, as a hub's "owner/name" or a path; may be empty
};

/// Reads whichever of the four kinds `source` is; JSON if its first character is a brace, else YAML. Errors, with place:
/// no valid text, none of the four kinds, a field of a wrong type or range, fields that contradict each other, and what
/// has no key here (see above). Warnings: fields that are not known at all.
Result<ImportedConfig> import_config(const SourceText& source);

/// What several files of one training run imply together. A stated value goes before a default one. Errors: two files
/// that state different values of a key.
Result<std::vector<ImportedKey>> combined(std::span<const ImportedConfig> configs);

/// The keys as the text of a scenario file: each with the field that it comes from, and at the end what was left out.
std::string scenario_text(std::span<const ImportedKey> keys, std::span<const ImportedConfig> configs);

/// The id among `known` of the model that `base_model` is a checkpoint of, or empty: names are compared without owner,
/// capitals and the endings of tuned variants ("meta-llama/Llama-3.1-8B-Instruct" is llama-3.1-8b).
std::string model_id_of(const std::string& base_model, std::span<const std::string> known);

}  // namespace takt
