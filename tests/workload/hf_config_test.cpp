// Hugging Face configurations: real and restated files have the exact counts of models.csv; what is no dense decoder is
// refused with its place and reason.
#include "catch.hpp"
#include "config/json_places.hpp"
#include "config/reader.hpp"
#include "fixtures.hpp"
#include "support/source_dir.hpp"

#include <map>

using namespace takt;
using namespace takt::test;

namespace {

Result<ModelSpec> read_file(const std::string& name) {
  const Result<SourceText> text =
      read_text_file(takt::test::source_dir() + "/tests/workload/data/hf_configs/" + name + ".json");
  REQUIRE(text);
  return read_hf_config({name + ".json", text->text});
}

Result<ModelSpec> read(const std::string& text) {
  return read_hf_config({"config.json", text});
}

/// The message about a text that must be refused.
std::string failure(const std::string& text) {
  const Result<ModelSpec> model = read(text);
  CHECK_FALSE(model);
  return render(model.diagnostics());
}

TransformerShape shape_of(const std::string& text) {
  const Result<ModelSpec> model = read(text);
  INFO(render(model.diagnostics()));
  REQUIRE(model);
  return *model->transformer;
}

}  // namespace

TEST_CASE("configurations have the exact parameter counts of their models") {
  std::map<std::string, std::int64_t> counts;
  const std::vector<std::vector<std::string>> rows = csv_rows("models.csv");
  for (std::size_t i = 1; i < rows.size(); ++i) counts[rows[i][0]] = std::stoll(rows[i][1]);
  const std::map<std::string, std::string> files = {{"Qwen--Qwen3-0.6B", "qwen3-0.6b"},
                                                    {"Qwen--Qwen3-1.7B", "qwen3-1.7b"},
                                                    {"Qwen--Qwen3-32B", "qwen3-32b"},
                                                    {"Qwen--Qwen3-8B", "qwen3-8b"},
                                                    {"meta-llama--Meta-Llama-3.1-405B", "llama-3.1-405b"},
                                                    {"meta-llama--Meta-Llama-3.1-70B", "llama-3.1-70b"},
                                                    {"meta-llama--Meta-Llama-3.1-8B", "llama-3.1-8b"},
                                                    {"restated__Gemma-2-27B", "gemma-2-27b"},
                                                    {"restated__Gemma-2-2B", "gemma-2-2b"},
                                                    {"restated__Gemma-2-9B", "gemma-2-9b"},
                                                    {"restated__Gemma-3-12B_text", "gemma-3-12b"},
                                                    {"restated__Gemma-3-1B", "gemma-3-1b"},
                                                    {"restated__Gemma-3-27B_text", "gemma-3-27b"},
                                                    {"restated__Gemma-3-4B_text", "gemma-3-4b"},
                                                    {"restated__Llama-2-13B", "llama-2-13b"},
                                                    {"restated__Llama-2-70B", "llama-2-70b"},
                                                    {"restated__Llama-2-7B", "llama-2-7b"},
                                                    {"restated__Llama-3.2-1B", "llama-3.2-1b"},
                                                    {"restated__Llama-3.2-3B", "llama-3.2-3b"},
                                                    {"restated__Llama-3.3-70B", "llama-3.3-70b"},
                                                    {"restated__Mistral-7B-v0.1", "mistral-7b-v0.1"},
                                                    {"restated__Mistral-7B-v0.3", "mistral-7b-v0.3"},
                                                    {"restated__Mistral-Small-24B-2501", "mistral-small-24b-2501"},
                                                    {"restated__Phi-4-14B", "phi-4"},
                                                    {"restated__Qwen2.5-14B", "qwen2.5-14b"},
                                                    {"restated__Qwen2.5-32B", "qwen2.5-32b"},
                                                    {"restated__Qwen2.5-72B", "qwen2.5-72b"},
                                                    {"restated__Qwen2.5-7B", "qwen2.5-7b"},
                                                    {"restated__Qwen3-14B", "qwen3-14b"},
                                                    {"restated__Qwen3-4B", "qwen3-4b"},
                                                    {"restated__gpt2", "gpt2"},
                                                    {"restated__gpt2-xl", "gpt2-xl"}};
  for (const auto& [file, id] : files) {
    INFO(file);
    const Result<ModelSpec> model = read_file(file);
    INFO(render(model.diagnostics()));
    REQUIRE(model);
    CHECK(parameter_count(*model->transformer) == counts.at(id));
    CHECK(model->id == file);
    CHECK(model->source == "Hugging Face configuration " + file + ".json");
  }
}

TEST_CASE("mixtures of experts are refused where they count their experts") {
  for (const char* file :
       {"Qwen--Qwen3-30B-A3B", "Qwen--Qwen3-235B-A22B", "mistralai--Mixtral-8x7B-v0.1", "mistralai--Mixtral-8x22B-v0.1",
        "openai--gpt-oss-20b", "openai--gpt-oss-120b", "deepseek-ai--DeepSeek-V2-Lite", "deepseek-ai--DeepSeek-V3"}) {
    INFO(file);
    const Result<ModelSpec> model = read_file(file);
    REQUIRE_FALSE(model);
    REQUIRE(model.diagnostics().size() == 1);
    CHECK(model.diagnostics()[0].place.line > 1);
    CHECK(model.diagnostics()[0].message.find("is a mixture of experts") != std::string::npos);
  }
  CHECK(failure("{\n  \"model_type\": \"mixtral\",\n  \"num_local_experts\": 8\n}\n") ==
        "config.json:3:24: error: mixtral is a mixture of experts: only dense models can be simulated\n"
        "    3 |   \"num_local_experts\": 8\n"
        "      |                        ^\n"
        "hint: its layers compute with some of their weights, which needs a router and expert parallelism\n");
}

TEST_CASE("encoders and unknown architectures are refused with the reason") {
  CHECK(failure("{\"model_type\": \"bert\", \"hidden_size\": 768}") ==
        "config.json:1:16: error: bert is an encoder: only decoder-only language models can be simulated\n"
        "    1 | {\"model_type\": \"bert\", \"hidden_size\": 768}\n"
        "      |                ^\n"
        "hint: known are llama, mistral, qwen2, qwen3, gemma, gemma2, gemma3, phi, phi3, gpt2\n");
  CHECK(failure("{\"model_type\": \"pegasus\", \"is_encoder_decoder\": true}").find("pegasus is an encoder") !=
        std::string::npos);
  CHECK(failure("{\"model_type\": \"mamba\"}") ==
        "config.json:1:16: error: the architecture \"mamba\" is not known\n"
        "    1 | {\"model_type\": \"mamba\"}\n"
        "      |                ^\n"
        "hint: known are llama, mistral, qwen2, qwen3, gemma, gemma2, gemma3, phi, phi3, gpt2\n");
  CHECK(failure("{\"model_type\": \"lama\"}").find("hint: did you mean \"llama\"?") != std::string::npos);
  CHECK(failure("{\"hidden_size\": 8}") ==
        "config.json: error: this is no configuration of a model: model_type is missing or no text\n");
  CHECK(failure("[1, 2]") == "config.json: error: this is no configuration of a model: it is no JSON object\n");
}

TEST_CASE("broken JSON is placed by line and column") {
  CHECK(failure("{\n  \"model_type\": \"llama\"\n  \"hidden_size\": 8\n}\n") ==
        "config.json:3:15: error: this is no valid JSON\n"
        "    3 |   \"hidden_size\": 8\n"
        "      |               ^\n"
        "hint: check for a missing comma, quote or bracket before this place\n");
}

TEST_CASE("all missing and wrong dimensions of a file are named at once, in the order of the file") {
  CHECK(failure("{\n"
                "  \"model_type\": \"llama\",\n"
                "  \"hidden_size\": \"4096\",\n"
                "  \"intermediate_size\": 14336,\n"
                "  \"num_hidden_layers\": 0,\n"
                "  \"tie_word_embeddings\": 1,\n"
                "  \"vocab_size\": null\n"
                "}\n") ==
        "config.json:3:18: error: hidden_size must be a whole number from 1 to 16777216\n"
        "    3 |   \"hidden_size\": \"4096\",\n"
        "      |                  ^\n"
        "config.json:5:24: error: num_hidden_layers must be a whole number from 1 to 16777216\n"
        "    5 |   \"num_hidden_layers\": 0,\n"
        "      |                        ^\n"
        "config.json:6:26: error: tie_word_embeddings must be true or false\n"
        "    6 |   \"tie_word_embeddings\": 1,\n"
        "      |                          ^\n"
        "config.json: error: num_attention_heads is missing\n"
        "config.json: error: vocab_size is missing\n");
}

TEST_CASE("heads that do not divide, biases on a part, windows in some layers") {
  const std::string start =
      R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
 "num_attention_heads": 8, "vocab_size": 100, )";
  CHECK(failure(start + "\"num_key_value_heads\": 3}")
            .find("config.json:2:70: error: 3 key and value heads do not divide 8 query heads\n") == 0);
  CHECK(failure(start + "\"attention_bias\": true}").find("but not of the MLP") != std::string::npos);
  CHECK(shape_of(start + "\"attention_bias\": true, \"mlp_bias\": true}").linear_bias);
  std::string qwen = start + "\"use_sliding_window\": true}";
  qwen.replace(qwen.find("llama"), 5, "qwen2");
  CHECK(failure(qwen).find("hint: set use_sliding_window to false") != std::string::npos);
}

TEST_CASE("what a file leaves out is what the library fills in") {
  // head_dim = hidden / heads, as many key and value heads as query heads, untied
  const TransformerShape llama = shape_of(
      R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
          "num_attention_heads": 32, "vocab_size": 32000})");
  CHECK(llama.head_dim == 128);
  CHECK(llama.kv_heads == 32);
  CHECK_FALSE(llama.tied_embeddings);
  CHECK(parameter_count(llama) == 6738415616);
  // Gemma 3 with a vision tower: the text part, with the defaults of the 4B model
  const Result<ModelSpec> gemma = read(
      R"({"model_type": "gemma3", "vision_config": {"hidden_size": 1152}, "text_config": {"hidden_size": 2560,
          "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34, "sliding_window": 1024}})");
  REQUIRE(gemma);
  CHECK(parameter_count(*gemma->transformer) == 3880263168);
  CHECK(gemma->transformer->sliding_window == 1024);
  CHECK(gemma->transformer->global_every == 6);
  REQUIRE(gemma.diagnostics().size() == 1);
  CHECK(gemma.diagnostics()[0].severity == Severity::warning);
  CHECK(gemma.diagnostics()[0].place.column == 43);
}

TEST_CASE("Phi-2: one LayerNorm a layer, biases everywhere, the head included") {
  const TransformerShape phi = shape_of(
      R"({"model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 32,
          "num_attention_heads": 32, "vocab_size": 51200})");
  // 2 V h + V + 32 (4 (h^2 + h) + 2 h I + I + h + 2 h) + 2 h
  CHECK(parameter_count(phi) == 2779683840);
  Scenario scenario = scenario_of(Method::full);
  const Workload workload = build(phi, scenario);
  CHECK(workload.trainable_parameters == 2779683840);
  CHECK_FALSE(has(workload.block(1).forward, "mlp norm"));
  CHECK(workload.block(33).parameters.back().name == "lm_head.b");
}

TEST_CASE("a model file that ends in .json is a configuration") {
  const Result<ModelSpec> model = read_model({"m/config.json", R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12,
      "n_head": 12, "vocab_size": 50257})"});
  REQUIRE(model);
  CHECK(parameter_count(*model->transformer) == 124439808);
}

TEST_CASE("a configuration in a folder is named after the folder") {
  const std::string text = R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257})";
  CHECK(read_hf_config({"checkpoints/my-gpt/config.json", text})->id == "my-gpt");
  CHECK(read_hf_config({"my-gpt/config.json", text})->id == "my-gpt");
  CHECK(read_hf_config({"config.json", text})->id == "config");
}

TEST_CASE("json_places finds members of nested objects and skips arrays and strings") {
  const SourceText source{"f.json",
                          "{\"a\": [1, {\"b\": \"]\"}],\n \"c\" : {\"d\\\"\": -2.5e3, \"e\": {}}, \"f\": \"{\"}"};
  const SourcePlaces places = json_places(source);
  CHECK(places.size() == 5);
  CHECK(places.at("a").column == 7);
  CHECK(places.at("c").line == 2);
  CHECK(places.at("c").column == 8);
  CHECK(places.at("c.d\\\"").column == 16);
  CHECK(places.at("c.e").column == 29);
  CHECK(places.at("f").column == 39);
}
