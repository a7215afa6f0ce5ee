// takt import: the configuration files of a training run as a scenario.
#include "commands.hpp"
#include "config/import/imported.hpp"
#include "config/library.hpp"
#include "config/reader.hpp"
#include "config/toml_text.hpp"
#include "output_file.hpp"

#include <algorithm>
#include <ostream>

namespace takt {
namespace {

/// A key that the command line gives.
ImportedKey asked(const std::string& key, const std::string& toml, const std::string& option) {
  return {key, toml, ImportedKey::Rank::stated, {"command line", 0, 0, {}}, "--" + option};
}

bool has_key(const std::vector<ImportedKey>& keys, const std::string& key) {
  return std::any_of(keys.begin(), keys.end(), [&](const ImportedKey& item) { return item.key == key; });
}

void replace(std::vector<ImportedKey>& keys, ImportedKey key) {
  std::erase_if(keys, [&](const ImportedKey& item) { return item.key == key.key; });
  keys.push_back(std::move(key));
}

/// --cards N: the first N, trained as the Trainer does where no file says otherwise.
Result<std::int64_t> add_cards(const ParsedOptions& options, std::vector<ImportedKey>& keys) {
  const std::optional<std::string> text = options.value("cards");
  if (!text) return std::int64_t{0};
  const Result<std::size_t> count = positive_number("cards", *text);
  if (!count) return count.diagnostics();
  constexpr std::size_t most_cards = 100'000;
  if (*count > most_cards) return usage_error("--cards must be at most 100000");
  std::string list;
  for (std::size_t card = 0; card < *count; ++card) list += (card == 0 ? "" : ", ") + std::to_string(card);
  replace(keys, asked("hardware.cards", "[" + list + "]", "cards " + *text));
  if (*count > 1 && !has_key(keys, "parallel.strategy")) {
    keys.push_back(asked("parallel.strategy", toml_string("ddp"), "cards " + *text + ": the Trainer's default is DDP"));
  }
  return static_cast<std::int64_t>(*count);
}

/// The model of --model, or the one that a file names if it is known.
void add_model(const ParsedOptions& options, const std::vector<ImportedConfig>& configs, const Library& library,
               std::vector<ImportedKey>& keys) {
  if (const auto model = options.value("model")) {
    keys.push_back(asked("model.name", toml_string(*model), "model"));
    return;
  }
  for (const ImportedConfig& config : configs) {
    const std::string id = model_id_of(config.base_model, library.model_names());
    if (id.empty()) continue;
    keys.push_back({"model.name", toml_string(id), ImportedKey::Rank::stated, {config.file, 0, 0, {}},
                    "the model is " + config.base_model});
    return;
  }
}

Result<std::vector<ImportedConfig>> read_files(const std::vector<std::string>& paths, Diagnostics& messages) {
  std::vector<ImportedConfig> configs;
  for (const std::string& path : paths) {
    const Result<SourceText> text = read_text_file(path);
    const Result<ImportedConfig> config = text ? import_config(*text) : Result<ImportedConfig>(text.diagnostics());
    messages.insert(messages.end(), config.diagnostics().begin(), config.diagnostics().end());
    if (config) configs.push_back(*config);
  }
  if (has_error(messages)) return messages;
  return configs;
}

/// Keys that follow from the model's hidden size, where the model is known. Errors: a model that cannot be read.
Diagnostics add_by_hidden_size(const std::vector<ImportedConfig>& configs, Library& library, std::vector<ImportedKey>& keys) {
  const auto name = std::find_if(keys.begin(), keys.end(), [](const ImportedKey& key) { return key.key == "model.name"; });
  if (name == keys.end()) return {};
  const std::optional<Node> text = parse_toml_value(name->toml, name->place);
  const auto* id = text ? text->as<std::string>() : nullptr;
  if (id == nullptr) return {};
  const Result<ModelSpec> model = library.model(*id, name->place);
  if (!model) return model.diagnostics();
  if (!model->transformer) return {};
  const auto hidden = static_cast<double>(model->transformer->hidden);
  for (const ImportedConfig& config : configs) {
    for (const KeyByHiddenSize& rule : config.by_hidden_size) {
      if (has_key(keys, rule.key)) continue;
      const auto elements = static_cast<std::int64_t>(rule.square * hidden * hidden + rule.linear * hidden);
      keys.push_back({rule.key, std::to_string(elements), ImportedKey::Rank::stated, rule.place,
                      rule.said + ", by the model's hidden size"});
    }
  }
  return {};
}

/// What still has to be said before the text is a scenario, as comments at its head.
std::string missing_keys(const std::vector<ImportedKey>& keys, const std::vector<ImportedConfig>& configs) {
  std::string text;
  if (!has_key(keys, "hardware.topology")) {
    text += "# hardware.topology is missing: no file says which server this is. takt import ... --topology NAME\n";
  }
  if (!has_key(keys, "model.name")) {
    std::string named;
    for (const ImportedConfig& config : configs) named = config.base_model.empty() ? named : config.base_model;
    text += "# model.name is missing: " + (named.empty() ? "no file names the model" : named + " is not known") +
            ". takt import ... --model NAME\n";
  }
  if (!has_key(keys, "batch.sequence_length")) {
    text += "# batch.sequence_length is not said by any file; 4096 is the default here\n";
  }
  return text.empty() ? text : text + "\n";
}

ExitStatus write(const ParsedOptions& options, const Environment& environment, const std::string& text) {
  const std::optional<std::string> path = options.value("out");
  if (!path) {
    environment.out << text;
    return ExitStatus::done;
  }
  const std::optional<Diagnostic> failure = write_file(*path, text);
  if (failure) environment.err << render(*failure);
  return failure ? ExitStatus::invalid : ExitStatus::done;
}

ExitStatus import(const ParsedOptions& options, const Environment& environment) {
  if (options.arguments.empty()) {
    environment.err << render(usage_error("which file?", "name accelerate's, DeepSpeed's, PEFT's or the Trainer's files"));
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  Diagnostics messages;
  const Result<std::vector<ImportedConfig>> configs = read_files(options.arguments, messages);
  environment.err << render(messages);
  if (!configs) return ExitStatus::invalid;
  Result<std::vector<ImportedKey>> keys = combined(*configs);
  if (!keys) {
    environment.err << render(keys.diagnostics());
    return ExitStatus::invalid;
  }
  if (const auto topology = options.value("topology")) {
    keys->push_back(asked("hardware.topology", toml_string(*topology), "topology"));
  }
  add_model(options, *configs, library, *keys);
  const Diagnostics of_model = add_by_hidden_size(*configs, library, *keys);
  environment.err << render(of_model);
  if (has_error(of_model)) return ExitStatus::invalid;
  const Result<std::int64_t> cards = add_cards(options, *keys);
  if (!cards) {
    environment.err << render(cards.diagnostics());
    return ExitStatus::wrong_usage;
  }
  const std::string text = missing_keys(*keys, *configs) + scenario_text(*keys, *configs);
  if (has_key(*keys, "hardware.topology") && has_key(*keys, "model.name")) {
    const Result<Scenario> scenario = read_scenario({"imported scenario", text});
    environment.err << render(scenario.diagnostics());
    if (!scenario) return ExitStatus::invalid;
  }
  return write(options, environment, text);
}

}  // namespace

Command import_command() {
  return {"import",
          "FILE...",
          "a scenario from the configuration files of a training run",
          "Reads accelerate's YAML, DeepSpeed's JSON, PEFT's adapter_config.json and the arguments of Hugging Face's "
          "Trainer (JSON, or the YAML of TRL recipes), together or alone, and prints the scenario that they imply: each "
          "key with the field that it comes from, and what was left out with the reason. What changes a step and has no "
          "key is refused.",
          {{"topology", "NAME", "the server or cluster, which no such file names", {}},
           {"model", "NAME", "the model, where the files name none that is known", {}},
           {"cards", "N", "the run has the first N cards; with none of the files saying how they share, DDP", {}},
           {"out", "FILE", "write the scenario here instead of to standard output", {}}},
          "takt import accelerate.yaml adapter_config.json args.json --topology 4x-h200-nvl --out my-run.toml",
          import};
}

}  // namespace takt
