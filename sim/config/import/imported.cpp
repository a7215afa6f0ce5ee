#include "config/import/imported.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "config/import/config_reader.hpp"
#include "config/import/kinds.hpp"
#include "config/json.hpp"
#include "config/json_places.hpp"
#include "config/yaml.hpp"

namespace takt {
namespace {

/// JSON as the tree that YAML gives: nulls are left out, values inside lists stand where the list stands.
class JsonTree {
 public:
  JsonTree(const SourceText& source, const SourcePlaces& places) : source_(source), places_(places) {}

  Node table(const Json::Object& object, const std::string& prefix, const SourcePlace& place) const {
    Node::Table members;
    for (const JsonMember& member : object) {
      if (std::holds_alternative<std::nullptr_t>(member.value.value)) continue;
      const std::string path = prefix + member.key;
      const SourcePlace at = place_of(places_, path, source_.file);
      members.push_back({member.key, at, node(member.value, path, at)});
    }
    return {std::move(members), place};
  }

 private:
  Node node(const Json& json, const std::string& path, const SourcePlace& place) const {
    if (const auto* object = std::get_if<Json::Object>(&json.value)) return table(*object, path + '.', place);
    if (const auto* array = std::get_if<Json::Array>(&json.value)) {
      Node::Array items;
      for (const Json& item : *array) items.push_back(node(item, path, place));
      return {std::move(items), place};
    }
    if (const auto* flag = std::get_if<bool>(&json.value)) return {*flag, place};
    if (const auto* whole = std::get_if<std::int64_t>(&json.value)) return {*whole, place};
    if (const auto* real = std::get_if<double>(&json.value)) return {*real, place};
    const auto* text = std::get_if<std::string>(&json.value);
    return {text ? *text : std::string(), place};
  }

  const SourceText& source_;
  const SourcePlaces& places_;
};

Result<Node> parse_config(const SourceText& source) {
  const std::size_t first = source.text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || source.text[first] != '{') return parse_yaml(source);
  const Result<Json> json = parse_json(source);
  if (!json) return json.diagnostics();
  const SourcePlaces places = json_places(source);
  return JsonTree(source, places).table(std::get<Json::Object>(json->value), "", {source.file, 1, 1, {}});
}

struct KindOfFile {
  ConfigKind kind;
  bool (*is)(const Node::Table&);
  void (*read)(ConfigReader&);
};

/// In the order in which they are tried: TrainingArguments can hold fields of the others.
constexpr std::array kinds = {KindOfFile{ConfigKind::peft, is_peft, import_peft},
                              KindOfFile{ConfigKind::accelerate, is_accelerate, import_accelerate},
                              KindOfFile{ConfigKind::deepspeed, is_deepspeed, import_deepspeed},
                              KindOfFile{ConfigKind::training_arguments, is_training_arguments,
                                         import_training_arguments}};

/// Later fields of one file go before earlier ones of the same key only if they say the same.
void check_contradictions(std::span<const ImportedKey> keys, Reading& reading) {
  std::map<std::string, const ImportedKey*> stated;
  for (const ImportedKey& key : keys) {
    if (key.rank != ImportedKey::Rank::stated) continue;
    const auto [entry, is_new] = stated.emplace(key.key, &key);
    const ImportedKey& first = *entry->second;
    if (is_new || first.toml == key.toml) continue;
    reading.error(key.place,
                  fmt::format("{} means {} = {}, but {}:{} ({}) means {}", key.said, key.key, key.toml,
                              first.place.file, first.place.line, first.said, first.toml),
                  "make them agree, or name only the file that counts");
  }
}

/// The sections of a scenario, in the order in which people write them.
constexpr std::array section_order = {"hardware", "model", "finetune", "finetune.lora", "batch", "parallel"};

std::size_t rank_of(const std::string& section) {
  const auto found = std::find(section_order.begin(), section_order.end(), section);
  return static_cast<std::size_t>(found - section_order.begin());
}

std::string section_of(const std::string& key) {
  return key.substr(0, key.rfind('.'));
}

std::string origin(const SourcePlace& place, const std::string& said) {
  if (place.line == 0) return said;
  const std::string name = place.file.substr(place.file.rfind('/') == std::string::npos ? 0 : place.file.rfind('/') + 1);
  return fmt::format("{}:{} {}", name, place.line, said);
}

}  // namespace

Result<ImportedConfig> import_config(const SourceText& source) {
  const Result<Node> root = parse_config(source);
  if (!root) return root.diagnostics();
  const auto& members = std::get<Node::Table>(root->value);
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const KindOfFile& each) { return each.is(members); });
  if (kind == kinds.end()) {
    return Diagnostic{Severity::error, {source.file, 0, 0, {}},
                      "this is none of the files that takt import reads",
                      "accelerate's YAML, DeepSpeed's JSON, PEFT's adapter_config.json or the Trainer's arguments"};
  }
  ImportedConfig config;
  config.kind = kind->kind;
  config.file = source.file;
  Reading reading;
  ConfigReader reader(*root, "", config, reading);
  for (const char* name : {"base_model_name_or_path", "model_name_or_path"}) {
    if (reader.has(name)) config.base_model = reader.word(name).value_or("");
  }
  kind->read(reader);
  check_contradictions(config.keys, reading);
  return finish(std::move(config), std::move(reading));
}

Result<std::vector<ImportedKey>> combined(std::span<const ImportedConfig> configs) {
  std::vector<ImportedKey> all;
  for (const ImportedConfig& config : configs) all.insert(all.end(), config.keys.begin(), config.keys.end());
  std::stable_sort(all.begin(), all.end(), [](const ImportedKey& a, const ImportedKey& b) { return a.rank > b.rank; });
  Reading reading;
  // An adapter's method says less than a 4-bit base's: PEFT's file does not know what it sits on.
  const bool four_bit = std::any_of(all.begin(), all.end(), [](const ImportedKey& key) {
    return key.key == "finetune.method" && key.toml == "\"qlora\"";
  });
  if (four_bit) {
    std::erase_if(all, [](const ImportedKey& key) { return key.key == "finetune.method" && key.toml == "\"lora\""; });
  }
  // DeepSpeed decides by its stage which micro-steps reduce; the Trainer's no_sync does not reach it.
  const bool zero = std::any_of(all.begin(), all.end(), [](const ImportedKey& key) {
    return key.key == "parallel.strategy" && key.rank == ImportedKey::Rank::stated && key.toml.starts_with("\"zero");
  });
  if (zero) std::erase_if(all, [](const ImportedKey& key) { return key.key == "parallel.sync_each_micro_step"; });
  check_contradictions(all, reading);
  std::vector<ImportedKey> keys;
  for (ImportedKey& key : all) {
    const bool is_new = std::none_of(keys.begin(), keys.end(), [&](const ImportedKey& k) { return k.key == key.key; });
    if (is_new) keys.push_back(std::move(key));
  }
  return finish(std::move(keys), std::move(reading));
}

std::string scenario_text(std::span<const ImportedKey> keys, std::span<const ImportedConfig> configs) {
  std::vector<const ImportedKey*> sorted;
  for (const ImportedKey& key : keys) sorted.push_back(&key);
  std::stable_sort(sorted.begin(), sorted.end(), [](const ImportedKey* a, const ImportedKey* b) {
    const std::string first = section_of(a->key), second = section_of(b->key);
    return rank_of(first) != rank_of(second) ? rank_of(first) < rank_of(second) : first < second;
  });
  std::string text;
  std::string section;
  for (const ImportedKey* key : sorted) {
    if (section_of(key->key) != section) {
      section = section_of(key->key);
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section);
    }
    text += fmt::format("{:<40}  # {}\n", fmt::format("{} = {}", key->key.substr(section.size() + 1), key->toml),
                        origin(key->place, key->said));
  }
  std::string left_out;
  for (const ImportedConfig& config : configs) {
    for (const LeftOutField& field : config.left_out) {
      left_out += fmt::format("#   {}: {}\n", origin(field.place, field.field), field.reason);
    }
  }
  if (!left_out.empty()) text += "\n# Left out, with the reason:\n" + left_out;
  return text;
}

std::string model_id_of(const std::string& base_model, std::span<const std::string> known) {
  const auto plain = [](std::string name) {
    name = lower_case(name.substr(name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1));
    if (name.starts_with("meta-")) name.erase(0, 5);
    for (bool shortened = true; shortened;) {
      shortened = false;
      for (const char* ending : {"-instruct", "-chat", "-it", "-hf", "-base", "-pt", "-bnb-4bit", "-unsloth"}) {
        if (!name.ends_with(ending)) continue;
        name.resize(name.size() - std::char_traits<char>::length(ending));
        shortened = true;
      }
    }
    return name;
  };
  const std::string wanted = plain(base_model);
  for (const std::string& id : known) {
    if (!wanted.empty() && plain(id) == wanted) return id;
  }
  return "";
}

}  // namespace takt
