// Text to specs. Each reader collects every error of its file, with place, reason and hint, before it gives up.
#pragma once

#include <string>
#include <vector>

#include "config/card_spec.hpp"
#include "config/hardware_change.hpp"
#include "config/hardware_spec.hpp"
#include "config/model_spec.hpp"
#include "config/scenario.hpp"

namespace takt {

Result<Scenario> read_scenario(const SourceText& source, const Overrides& overrides = {});
/// Readers of hardware take `changes`, values that hold instead of the file's.
Result<CardSpec> read_card(const SourceText& source, const NodeChanges& changes = {});
/// A file of models/, or by its ending .json a Hugging Face config.json.
Result<ModelSpec> read_model(const SourceText& source);
/// A Hugging Face config.json of the Llama, Mistral, Qwen2, Qwen3, Gemma, Phi and GPT-2 families. Errors: no JSON, a
/// missing or wrong dimension, and with the reason: mixtures of experts, encoders, architectures that are not known.
Result<ModelSpec> read_hf_config(const SourceText& source);
Result<std::map<std::string, LinkType>> read_link_types(const SourceText& source, const NodeChanges& changes = {});
/// `link_types` resolves the `type` of each link.
Result<ServerSpec> read_server(const SourceText& source, const std::map<std::string, LinkType>& link_types,
                               const NodeChanges& changes = {});
Result<ClusterSpec> read_cluster(const SourceText& source, const NodeChanges& changes = {});

/// The tree of a TOML file with changed values. Errors: as parse_toml and apply_changes.
Result<Document> parse_changed(const SourceText& source, const NodeChanges& changes);

/// Writes every key of a scenario, defaults included; read_scenario of the text gives an equal scenario.
std::string write_scenario(const Scenario& scenario);

/// One row of the key reference: `takt check --keys`, the README and the parser's own table.
struct KeyDescription {
  std::string path;        ///< "batch.sequence_length"
  std::string type;        ///< "integer", "bytes", "duration", "one of full | lora | qlora", ...
  std::string default_;    ///< as it would be written; "required" if there is none
  std::string range;       ///< "1 .. 16777216", or empty
  std::string meaning;
};
std::vector<KeyDescription> scenario_key_reference();
std::vector<KeyDescription> card_key_reference();
std::vector<KeyDescription> server_key_reference();
std::vector<KeyDescription> cluster_key_reference();
std::vector<KeyDescription> model_key_reference();
std::vector<KeyDescription> link_key_reference();

}  // namespace takt
