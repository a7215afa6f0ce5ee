// The arguments of Hugging Face's Trainer, as TrainingArguments writes them (JSON) or as the recipes of TRL and of the
// alignment handbook hold them (YAML, with the model's and the adapters' arguments in the same file).
#include <array>

#include <fmt/format.h>

#include "config/import/kinds.hpp"
#include "config/toml_text.hpp"

namespace takt {
namespace {

struct OptimizerName {
  const char* name;
  const char* optimizer;
  const char* form;  ///< null: the optimizer has one form
};

constexpr std::array optimizers = {OptimizerName{"adamw_torch", "adamw", "foreach"},
                                   OptimizerName{"adamw_torch_fused", "adamw", "fused"},
                                   OptimizerName{"adamw_apex_fused", "adamw", "fused"},
                                   OptimizerName{"adamw_bnb_8bit", "adamw-8bit", nullptr},
                                   OptimizerName{"adamw_8bit", "adamw-8bit", nullptr},
                                   OptimizerName{"paged_adamw_8bit", "paged-adamw-8bit", nullptr},
                                   OptimizerName{"sgd", "sgd", "foreach"}};

void read_optimizer(ConfigReader& file) {
  const std::optional<std::string> name = file.word("optim");
  if (!name) {
    const std::string said = "optim: adamw_torch_fused, the Trainer's default";
    file.imply_default("finetune.optimizer", toml_string("adamw"), said);
    file.imply_default("finetune.optimizer_form", toml_string("fused"), said);
    return;
  }
  for (const OptimizerName& known : optimizers) {
    if (*name != known.name) continue;
    file.imply("optim", "finetune.optimizer", toml_string(known.optimizer));
    if (known.form != nullptr) file.imply("optim", "finetune.optimizer_form", toml_string(known.form));
    return;
  }
  file.refuse("optim", "an optimizer with other states and kernels than those described",
              "adamw_torch, adamw_torch_fused, adamw_bnb_8bit, paged_adamw_8bit or sgd");
}

void read_batch(ConfigReader& file) {
  file.imply_default("batch.micro_batch", "8", "per_device_train_batch_size: 8, the Trainer's default");
  if (const auto size = file.whole("per_device_train_batch_size", 1, 65'536)) {
    file.imply("per_device_train_batch_size", "batch.micro_batch", std::to_string(*size));
  }
  if (const auto steps = file.whole("gradient_accumulation_steps", 1, 65'536)) {
    file.imply("gradient_accumulation_steps", "batch.gradient_accumulation", std::to_string(*steps));
  }
  for (const char* name : {"max_seq_length", "max_length", "model_max_length", "cutoff_len"}) {
    if (const auto length = file.whole(name, 1, 16'777'216)) {
      file.imply(name, "batch.sequence_length", std::to_string(*length));
    }
  }
  if (const auto packing = file.flag("packing")) {
    file.leave_out("packing", *packing ? "sequences are taken as full; batch.packing gives the documents' lengths"
                                       : "sequences are taken as full: shorter ones are faster");
  }
}

void read_precision(ConfigReader& file) {
  const bool bf16 = file.flag("bf16").value_or(false);
  const bool fp16 = file.flag("fp16").value_or(false);
  const bool tf32 = file.flag("tf32").value_or(false);
  if (bf16 && fp16) file.error("fp16", "bf16 and fp16 are both true", "the Trainer takes one of the two");
  if (bf16) file.imply("bf16", "finetune.precision", toml_string("bf16"));
  else if (fp16) file.imply("fp16", "finetune.precision", toml_string("fp16"));
  else if (tf32) file.imply("tf32", "finetune.precision", toml_string("tf32"));
  else file.imply_default("finetune.precision", toml_string("fp32"), "neither bf16 nor fp16, the Trainer's default");
  for (const char* name : {"torch_dtype", "dtype"}) {
    file.leave_out(name, "the format of loaded weights follows finetune.precision here");
  }
}

void read_recomputation(ConfigReader& file) {
  if (const auto value = file.flag("gradient_checkpointing")) {
    file.imply("gradient_checkpointing", "finetune.activation_checkpointing", toml_string(*value ? "full" : "none"));
  }
  if (std::optional<ConfigReader> how = file.section("gradient_checkpointing_kwargs")) {
    if (const auto reentrant = how->flag("use_reentrant")) {
      how->imply("use_reentrant", "finetune.checkpoint_reentrant", toml_flag(*reentrant));
    }
    how->finish();
  }
}

/// Whether sequences of a micro-batch are padded to one length, so that SDPA gets a mask and takes another kernel.
bool pads(ConfigReader& file) {
  const bool packs = file.flag("packing").value_or(false) || file.flag("padding_free").value_or(false);
  return !packs && file.whole("per_device_train_batch_size", 1, 65'536).value_or(8) > 1;
}

void read_kernels(ConfigReader& file) {
  const std::string attention = "attn_implementation";
  if (const auto name = file.word(attention)) {
    if (name->find("flash") != std::string::npos) file.imply(attention, "finetune.attention", toml_string("flash"));
    else if (*name == "sdpa") file.imply(attention, "finetune.attention", toml_string(pads(file) ? "sdpa-mask" : "flash"));
    else if (*name == "eager") file.imply(attention, "finetune.attention", toml_string("eager"));
    else file.refuse(attention, "no such kernel is described", "flash_attention_2, sdpa or eager");
  }
  if (file.flag("use_liger_kernel").value_or(false) || file.flag("use_liger").value_or(false)) {
    const char* name = file.has("use_liger_kernel") ? "use_liger_kernel" : "use_liger";
    file.imply(name, "finetune.elementwise", toml_string("fused"));
    file.imply(name, "finetune.cross_entropy", toml_string("fused-linear"));
  } else if (file.flag("torch_compile").value_or(false)) {
    file.imply("torch_compile", "finetune.elementwise", toml_string("compiled"));
    file.imply("torch_compile", "finetune.cross_entropy", toml_string("compiled"));
  }
  file.imply_default("finetune.gradient_clipping", toml_flag(true), "max_grad_norm: 1.0, the Trainer's default");
  if (const auto norm = file.number("max_grad_norm", 0.0, 1e12)) {
    file.imply("max_grad_norm", "finetune.gradient_clipping", toml_flag(*norm > 0.0));
  }
  if (const auto filter = file.flag("logging_nan_inf_filter")) {
    file.imply("logging_nan_inf_filter", "finetune.loss_read_back", toml_string(*filter ? "micro-step" : "step"));
  }
}

/// TRL's and the handbook's arguments of the model.
void read_adapters(ConfigReader& file) {
  const bool adapters = file.flag("use_peft").value_or(false);
  const bool four_bit = file.flag("load_in_4bit").value_or(false);
  if (file.flag("load_in_8bit").value_or(false)) file.refuse("load_in_8bit", "a base is in 16 or 4 bits here");
  if (four_bit && !adapters) file.error("load_in_4bit", "a 4-bit base cannot be trained without adapters", "use_peft: true");
  if (adapters) {
    file.imply(four_bit ? "load_in_4bit" : "use_peft", "finetune.method", toml_string(four_bit ? "qlora" : "lora"));
    read_lora(file, "lora_r", "lora_alpha", "lora_dropout", "lora_target_modules");
  }
  if (const auto nested = file.flag("use_bnb_nested_quant"); nested && four_bit) {
    file.imply("use_bnb_nested_quant", "finetune.double_quantisation", toml_flag(*nested));
  }
  file.leave_out({"use_peft", "load_in_4bit", "load_in_8bit", "lora_r", "lora_alpha", "lora_dropout",
                  "lora_target_modules", "lora_task_type", "use_rslora", "bnb_4bit_quant_type",
                  "bnb_4bit_quant_storage", "use_bnb_nested_quant", "trust_remote_code", "model_revision"},
                 "no adapters, or without effect on time and memory");
  for (const char* name : {"lora_modules_to_save", "use_dora"}) {
    const Node* node = file.field(name);
    const bool off = node == nullptr || (node->as<bool>() && !*node->as<bool>()) ||
                     (node->as<Node::Array>() && node->as<Node::Array>()->empty());
    if (!off) file.refuse(name, "only plain adapters on linear layers are trained");
  }
}

void read_ddp(ConfigReader& file) {
  for (const char* name : {"ddp_find_unused_parameters", "ddp_broadcast_buffers", "ddp_bucket_cap_mb"}) {
    if (file.has(name)) {
      file.imply_default("parallel.strategy", toml_string("ddp"), std::string(name) + " is set: torchrun runs DDP");
      break;
    }
  }
  if (const auto value = file.flag("ddp_find_unused_parameters")) {
    file.imply("ddp_find_unused_parameters", "parallel.ddp.find_unused_parameters", toml_flag(*value));
  }
  if (const auto value = file.flag("ddp_broadcast_buffers")) {
    file.imply("ddp_broadcast_buffers", "parallel.ddp.broadcast_buffers", toml_flag(*value));
  }
  if (const auto mib = file.whole("ddp_bucket_cap_mb", 1, 1'000'000)) {
    file.imply("ddp_bucket_cap_mb", "parallel.bucket_size", toml_string(fmt::format("{} MiB", *mib)));
  }
  file.leave_out({"ddp_backend", "ddp_timeout", "local_rank"}, "how processes are started; not part of a step");
}

/// The options of `fsdp: "full_shard auto_wrap offload"`.
void read_fsdp_options(ConfigReader& file, const std::string& options) {
  std::size_t start = 0;
  while (start < options.size()) {
    const std::size_t end = std::min(options.find(' ', start), options.size());
    const std::string option = lower_case(options.substr(start, end - start));
    start = end + 1;
    if (option.empty() || option == "auto_wrap") continue;
    if (option == "offload") imply_offload(file, "fsdp", "parallel.offload_params", "cpu");
    else imply_sharding(file, "fsdp", option);
  }
}

/// `fsdp` as text, as a list of words or as the flag of newer versions; empty: off.
std::string fsdp_options(ConfigReader& file) {
  const Node* node = file.field("fsdp");
  if (node == nullptr) return "";
  if (const auto* flag = node->as<bool>()) return *flag ? "full_shard" : "";
  if (const auto* text = node->as<std::string>()) return *text;
  std::string options;
  if (const auto* words = node->as<Node::Array>()) {
    for (const Node& word : *words) {
      if (const auto* text = word.as<std::string>()) options += *text + " ";
    }
    return options;
  }
  file.error("fsdp", "fsdp must be words such as \"full_shard auto_wrap\", not " + describe(*node));
  return "";
}

void read_fsdp(ConfigReader& file) {
  const std::string options = fsdp_options(file);
  std::optional<ConfigReader> config = file.section("fsdp_config");
  if (options.empty()) {
    file.leave_out({"fsdp", "fsdp_config", "fsdp_min_num_params", "fsdp_transformer_layer_cls_to_wrap"},
                   "FSDP is not asked for");
    return;
  }
  const std::int64_t version = config ? config->whole("version", 1, 2).value_or(1) : 1;
  file.imply("fsdp", "parallel.strategy", toml_string(version == 2 ? "fsdp2" : "fsdp1"));
  if (version == 1) {
    read_fsdp_options(file, options);
    file.imply_default("parallel.fsdp1.backward_prefetch", toml_string("none"),
                       "backward_prefetch: NO_PREFETCH, the Trainer's default");
  }
  if (!config) return;
  if (const auto value = config->word("backward_prefetch"); value && version == 1) {
    imply_backward_prefetch(*config, "backward_prefetch", *value);
  }
  if (const auto value = config->flag("forward_prefetch"); value && version == 1) {
    config->imply("forward_prefetch", "parallel.fsdp1.forward_prefetch", toml_flag(*value));
  }
  if (const auto value = config->flag("use_orig_params"); value && version == 1) {
    config->imply("use_orig_params", "parallel.fsdp1.use_orig_params", toml_flag(*value));
  }
  if (const auto value = config->flag("limit_all_gathers"); value && version == 1) {
    config->imply("limit_all_gathers", "parallel.fsdp1.limit_all_gathers", toml_flag(*value));
  }
  if (const auto value = config->flag("reshard_after_forward"); value && version == 2) {
    config->imply("reshard_after_forward", "parallel.reshard_after_forward", toml_flag(*value));
  }
  if (const auto value = config->flag("activation_checkpointing"); value && *value) {
    config->imply("activation_checkpointing", "finetune.activation_checkpointing", toml_string("full"));
  }
  if (const auto parameters = config->whole("min_num_params", 0, std::int64_t{1} << 50); parameters && *parameters > 0) {
    config->refuse("min_num_params", "units here are decoder layers", "wrap by the decoder layer's class");
  }
  if (const auto value = config->flag("cpu_offload"); value && *value) {
    imply_offload(*config, "cpu_offload", "parallel.offload_params", "cpu");
  }
  config->leave_out({"transformer_layer_cls_to_wrap", "version", "xla", "xla_fsdp_v2", "xla_fsdp_grad_ckpt",
                     "sync_module_states", "cpu_ram_efficient_loading", "state_dict_type", "min_num_params"},
                    "for loading, saving or other hardware, or as it is here");
  config->finish();
}

void read_deepspeed(ConfigReader& file) {
  const Node* node = file.field("deepspeed");
  if (node == nullptr) return;
  if (std::holds_alternative<Node::Table>(node->value)) {
    std::optional<ConfigReader> section = file.section("deepspeed");
    import_deepspeed(*section);
    return;
  }
  file.leave_out("deepspeed", "a file of its own: name it on the line too");
}

/// What neither takes time in a step nor memory on a card.
void leave_out_the_rest(ConfigReader& file) {
  file.leave_out({"learning_rate", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "lr_scheduler_type",
                  "lr_scheduler_kwargs", "warmup_ratio", "warmup_steps", "num_train_epochs", "max_steps", "seed",
                  "data_seed", "neftune_noise_alpha", "label_smoothing_factor", "average_tokens_across_devices"},
                 "what is learned, not how fast");
  file.leave_out({"output_dir", "overwrite_output_dir", "save_strategy", "save_steps", "save_total_limit", "save_only_model",
                  "save_safetensors", "save_on_each_node", "resume_from_checkpoint", "restore_callback_states_from_checkpoint",
                  "load_best_model_at_end", "metric_for_best_model", "greater_is_better", "ignore_data_skip", "hub_model_id",
                  "hub_strategy", "hub_token", "hub_private_repo", "hub_always_push", "hub_revision", "push_to_hub",
                  "push_to_hub_model_id", "push_to_hub_organization", "push_to_hub_token"},
                 "checkpoints are not part of a step");
  file.leave_out({"logging_dir", "logging_strategy", "logging_steps", "logging_first_step", "log_level",
                  "log_level_replica", "log_on_each_node", "report_to", "run_name", "disable_tqdm", "project",
                  "trackio_space_id", "include_tokens_per_second", "include_num_input_tokens_seen", "skip_memory_metrics",
                  "debug"},
                 "logging is not part of a step");
  file.leave_out({"do_train", "do_eval", "do_predict", "eval_strategy", "evaluation_strategy", "eval_steps", "eval_delay",
                  "per_device_eval_batch_size", "eval_accumulation_steps", "eval_on_start", "eval_do_concat_batches",
                  "eval_use_gather_object", "prediction_loss_only", "bf16_full_eval", "fp16_full_eval",
                  "include_inputs_for_metrics", "include_for_metrics", "batch_eval_metrics", "label_names",
                  "past_index", "jit_mode_eval", "use_legacy_prediction_loop"},
                 "evaluation is not part of a step");
  file.leave_out({"dataloader_num_workers", "dataloader_pin_memory", "dataloader_drop_last",
                  "dataloader_prefetch_factor", "dataloader_persistent_workers", "remove_unused_columns",
                  "group_by_length", "length_column_name", "accelerator_config", "split_batches", "dataset_text_field",
                  "dataset_num_proc", "dataset_kwargs", "dataset_mixer", "dataset_splits", "dataset_name",
                  "dataset_config", "dataset_train_split", "dataset_test_split", "preprocessing_num_workers",
                  "chat_template", "completion_only_loss", "assistant_only_loss", "padding_free", "eos_token", "pad_token"},
                 "data is there when a step needs it");
  file.leave_out({"no_cuda", "use_cpu", "use_mps_device", "use_ipex", "tpu_num_cores", "tpu_metrics_debug",
                  "mp_parameters", "half_precision_backend", "fp16_opt_level", "fp16_backend", "full_determinism",
                  "auto_find_batch_size", "torch_empty_cache_steps", "torchdynamo", "torch_compile_backend",
                  "torch_compile_mode", "optim_args", "optim_target_modules", "adafactor", "ray_scope",
                  "use_liger_kernel", "use_liger", "torch_compile", "liger_kernel_config", "_n_gpu", "n_gpu",
                  "bf16", "fp16", "tf32", "model_name_or_path", "parallelism_config", "gradient_checkpointing_kwargs",
                  "include_tokens_per_second", "trainer", "do_sample", "fsdp_min_num_params",
                  "fsdp_transformer_layer_cls_to_wrap"},
                 "off, or read together with another field");
}

}  // namespace

bool is_training_arguments(const Node::Table& file) {
  for (const char* field : {"per_device_train_batch_size", "output_dir", "num_train_epochs", "learning_rate",
                            "gradient_checkpointing"}) {
    if (find(file, field) != nullptr) return true;
  }
  return false;
}

void import_training_arguments(ConfigReader& file) {
  read_batch(file);
  read_precision(file);
  read_recomputation(file);
  read_kernels(file);
  read_optimizer(file);
  read_adapters(file);
  read_ddp(file);
  read_fsdp(file);
  read_deepspeed(file);
  if (file.whole("gradient_accumulation_steps", 1, 65'536).value_or(1) > 1) {
    file.imply_default("parallel.sync_each_micro_step", toml_flag(false),
                       "the Trainer reduces gradients in the last micro-step only");
  }
  leave_out_the_rest(file);
  file.finish();
}

}  // namespace takt
