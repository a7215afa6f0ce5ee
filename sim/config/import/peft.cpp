// PEFT's adapter_config.json.
#include <fmt/format.h>

#include "config/import/kinds.hpp"
#include "config/toml_text.hpp"

namespace takt {
namespace {

/// Whether the field holds anything: not missing, false, an empty list, mapping or text.
bool says_something(ConfigReader& file, const std::string& name) {
  const Node* node = file.field(name);
  if (node == nullptr) return false;
  if (const auto* flag = node->as<bool>()) return *flag;
  if (const auto* list = node->as<Node::Array>()) return !list->empty();
  if (const auto* table = node->as<Node::Table>()) return !table->empty();
  if (const auto* text = node->as<std::string>()) return !text->empty();
  return true;
}

/// What changes which weights are trained or what is computed, without a key of its own.
void refuse_variants(ConfigReader& file) {
  struct Variant {
    const char* field;
    const char* why;
  };
  for (const Variant& variant :
       {Variant{"use_dora", "DoRA also trains and multiplies by a magnitude of each column"},
        Variant{"rank_pattern", "all adapters have one rank"},
        Variant{"layers_to_transform", "every layer has adapters"},
        Variant{"layers_pattern", "every layer has adapters"},
        Variant{"modules_to_save", "embedding and head are frozen beside adapters"},
        Variant{"trainable_token_indices", "the embedding is frozen beside adapters"},
        Variant{"layer_replication", "each layer runs once"},
        Variant{"megatron_config", "Megatron's parallel layers are not described"},
        Variant{"target_parameters", "adapters sit on linear layers"},
        Variant{"exclude_modules", "adapters sit on all layers of a kind"},
        Variant{"use_qalora", "adapters read the whole input"}, Variant{"lora_bias", "adapters have no biases"}}) {
    if (says_something(file, variant.field)) file.refuse(variant.field, variant.why);
  }
  if (const auto bias = file.word("bias"); bias && *bias != "none") {
    file.refuse("bias", "only the adapters are trained", "\"bias\": \"none\"");
  }
}

}  // namespace

bool is_peft(const Node::Table& file) {
  return find(file, "peft_type") != nullptr;
}

void import_peft(ConfigReader& file) {
  const std::string type = file.word("peft_type").value_or("");
  if (type != "LORA") file.refuse("peft_type", "adapters here are LoRA's", "\"peft_type\": \"LORA\"");
  else file.imply("peft_type", "finetune.method", toml_string("lora"));
  read_lora(file, "r", "lora_alpha", "lora_dropout", "target_modules");
  if (const auto task = file.word("task_type"); task && *task != "CAUSAL_LM") {
    file.refuse("task_type", "the loss is that of next tokens", "\"task_type\": \"CAUSAL_LM\"");
  }
  refuse_variants(file);
  file.leave_out("base_model_name_or_path", "names the model");
  file.leave_out({"task_type", "bias", "use_dora", "rank_pattern", "layers_to_transform", "layers_pattern",
                  "modules_to_save", "trainable_token_indices", "layer_replication", "megatron_config",
                  "megatron_core", "target_parameters", "exclude_modules", "use_qalora", "lora_bias"},
                 "as it is here");
  file.leave_out({"auto_mapping", "alpha_pattern", "corda_config", "eva_config", "fan_in_fan_out",
                  "inference_mode", "init_lora_weights", "loftq_config", "peft_version", "qalora_group_size",
                  "revision", "use_rslora", "ensure_weight_tying", "alora_invocation_tokens",
                  "arrow_config"},
                 "changes neither time nor memory of a step");
  file.finish();
}

}  // namespace takt
