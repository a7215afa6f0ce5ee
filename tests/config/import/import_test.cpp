// Configuration files as people have them, and the scenario keys that they imply. The files of data/ are written in the
// style in which such files are posted; beside each stands the whole text that it becomes (TAKT_UPDATE_GOLDEN=1 writes
// it anew; read the difference).
#include "config/import/imported.hpp"

#include "catch.hpp"
#include "config/reader.hpp"
#include "support/source_dir.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace takt;

namespace {

std::string data_folder() {
  return test::source_dir() + "/tests/config/import/data/";
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The file under the name that its messages give it.
SourceText source(const std::string& name) {
  return {name, content(data_folder() + name)};
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(data_folder() + folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".toml") && !name.ends_with(".txt")) names.push_back(folder + "/" + name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void check_golden(const std::string& name, const std::string& actual) {
  CAPTURE(name);
  const std::string path = data_folder() + name;
  if (std::getenv("TAKT_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << actual;
  CHECK(content(path) == actual);
}

/// The keys of some texts, by name.
std::map<std::string, std::string> keys_of(const std::vector<SourceText>& sources) {
  std::vector<ImportedConfig> configs;
  for (const SourceText& text : sources) configs.push_back(import_config(text).value());
  const std::vector<ImportedKey> keys = combined(configs).value();
  std::map<std::string, std::string> values;
  for (const ImportedKey& key : keys) values[key.key] = key.toml;
  return values;
}

SourceText json(const std::string& text) {
  return {"file.json", text};
}

}  // namespace

TEST_CASE("five files of each kind become scenarios", "[config][import]") {
  std::size_t files = 0;
  for (const std::string folder : {"accelerate", "deepspeed", "peft", "trainer"}) {
    REQUIRE(files_of(folder).size() >= 5);
    for (const std::string& name : files_of(folder)) {
      CAPTURE(name);
      const Result<ImportedConfig> config = import_config(source(name));
      CHECK(render(config.diagnostics()) == "");
      REQUIRE(config);
      const std::vector<ImportedConfig> one{*config};
      const auto keys = combined(one);
      REQUIRE(keys);
      const std::string text = scenario_text(*keys, one);
      check_golden(name.substr(0, name.rfind('.')) + ".toml", text);
      // With a machine and a model it is a scenario without a warning.
      const std::string head = "[hardware]\ntopology = \"8x-h200-nvl\"\n[model]\nname = \"llama-3.1-8b\"\n";
      const bool has_hardware = text.starts_with("[hardware]\n");
      const std::string whole =
          has_hardware ? "[model]\nname = \"llama-3.1-8b\"\n[hardware]\ntopology = \"8x-h200-nvl\"\n" + text.substr(11)
                       : head + text;
      const Result<Scenario> scenario = read_scenario({name, whole});
      CHECK(render(scenario.diagnostics()) == "");
      CHECK(scenario);
      ++files;
    }
  }
  CHECK(files >= 20);
}

TEST_CASE("broken files are refused with place and reason", "[config][import]") {
  std::string messages;
  const std::vector<std::string> files = files_of("broken");
  REQUIRE(files.size() >= 5);
  for (const std::string& name : files) {
    const Result<ImportedConfig> config = import_config(source(name));
    CAPTURE(name);
    CHECK_FALSE(config.has_value());
    messages += render(config.diagnostics()) + "\n";
  }
  check_golden("broken/messages.txt", messages);
}

TEST_CASE("files of one run are taken together", "[config][import]") {
  const auto keys = keys_of({source("accelerate/fsdp-full-shard.yaml"), source("peft/llama-all.json"),
                             json(R"({"output_dir": "x", "per_device_train_batch_size": 2, "bf16": true})")});
  CHECK(keys.at("parallel.strategy") == "\"fsdp1\"");
  CHECK(keys.at("finetune.method") == "\"lora\"");
  CHECK(keys.at("finetune.lora.rank") == "16");
  CHECK(keys.at("batch.micro_batch") == "2");
  CHECK(keys.at("hardware.cards") == "[0, 1, 2, 3, 4, 5, 6, 7]");
}

TEST_CASE("what a file states goes before what another takes for granted", "[config][import]") {
  const SourceText arguments = json(R"({"output_dir": "x"})");  // a micro-batch of 8, fp32
  const SourceText deepspeed = {"ds.json", R"({"train_micro_batch_size_per_gpu": 3, "bf16": {"enabled": true},
                                               "zero_optimization": {"stage": 2}})"};
  for (const auto& keys : {keys_of({arguments, deepspeed}), keys_of({deepspeed, arguments})}) {
    CHECK(keys.at("batch.micro_batch") == "3");
    CHECK(keys.at("finetune.precision") == "\"bf16\"");
    CHECK(keys.at("parallel.strategy") == "\"zero2\"");
  }
  CHECK(keys_of({arguments}).at("batch.micro_batch") == "8");
  CHECK(keys_of({arguments}).at("finetune.precision") == "\"fp32\"");
}

TEST_CASE("two files that disagree are refused", "[config][import]") {
  const std::vector<ImportedConfig> configs{
      import_config({"a.json", R"({"output_dir": "x", "per_device_train_batch_size": 2})"}).value(),
      import_config({"ds.json", R"({"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}})"}).value()};
  const auto keys = combined(configs);
  REQUIRE_FALSE(keys);
  const Diagnostic& message = keys.diagnostics().front();
  CHECK(message.place.file == "ds.json");
  CHECK(message.message == "train_micro_batch_size_per_gpu: 4 means batch.micro_batch = 4, but a.json:1 "
                           "(per_device_train_batch_size: 2) means 2");
}

TEST_CASE("a 4-bit base makes an adapter QLoRA", "[config][import]") {
  const auto keys = keys_of({source("trainer/qlora-recipe.yaml"), json(R"({"peft_type": "LORA", "r": 16})")});
  CHECK(keys.at("finetune.method") == "\"qlora\"");
  CHECK(keys.at("finetune.optimizer") == "\"paged-adamw-8bit\"");
}

TEST_CASE("YAML is read as Python reads it", "[config][import]") {
  const auto keys = keys_of({{"a.yaml", "distributed_type: MULTI_GPU\nnum_processes: 2\nmixed_precision: no\n"}});
  CHECK(keys.at("finetune.precision") == "\"fp32\"");
  const auto quoted = keys_of({{"a.yaml", "distributed_type: MULTI_GPU\nnum_processes: 2\nmixed_precision: 'no'\n"}});
  CHECK(quoted.at("finetune.precision") == "\"fp32\"");
}

TEST_CASE("hostile YAML ends in a message", "[config][import]") {
  std::string bomb = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "b" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 0; j < 9; ++j) bomb += ", " + before;
    bomb += "]\n";
  }
  for (const std::string& text : {std::string(), std::string("- 1\n- 2\n"), std::string("a: 1\na: 2\n"),
                                  std::string("--- {a: 1}\n--- {b: 2}\n"), std::string("? [1]\n: 2\n"), bomb,
                                  std::string("a: [1, 2\n")}) {
    CAPTURE(text.substr(0, 40));
    CHECK_FALSE(import_config({"hostile.yaml", text}).has_value());
  }
}

TEST_CASE("a field that nobody knows is left out with a warning", "[config][import]") {
  const auto config = import_config(json("{\n  \"output_dir\": \"x\",\n  \"per_devise_train_batch_size\": 2\n}"));
  REQUIRE(config);
  REQUIRE(config.diagnostics().size() == 1);
  CHECK(config.diagnostics().front().place.line == 3);
  CHECK(config.diagnostics().front().message == "per_devise_train_batch_size is not known and is left out");
}

TEST_CASE("a checkpoint's name finds its model", "[config][import]") {
  const std::vector<std::string> known{"llama-2-70b", "llama-3.1-8b", "mistral-7b-v0.1", "gemma-2-9b"};
  CHECK(model_id_of("meta-llama/Llama-3.1-8B-Instruct", known) == "llama-3.1-8b");
  CHECK(model_id_of("meta-llama/Meta-Llama-3.1-8B", known) == "llama-3.1-8b");
  CHECK(model_id_of("/data/Llama-2-70b-hf", known) == "llama-2-70b");
  CHECK(model_id_of("google/gemma-2-9b-it", known) == "gemma-2-9b");
  CHECK(model_id_of("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", known) == "llama-3.1-8b");
  CHECK(model_id_of("acme/other", known).empty());
  CHECK(model_id_of("", known).empty());
}
