// accelerate's configuration: what `accelerate config` writes to default_config.yaml.
#include <fmt/format.h>

#include "config/import/kinds.hpp"
#include "config/toml_text.hpp"

namespace takt {
namespace {

constexpr std::int64_t most_processes = 1'000'000;

void read_precision(ConfigReader& file) {
  const std::string name = "mixed_precision";
  const std::optional<std::string> word = file.word(name);
  if (!word) return;
  const std::string precision = lower_case(*word);
  if (precision == "no") return file.imply(name, "finetune.precision", toml_string("fp32"));
  if (precision == "bf16" || precision == "fp16" || precision == "fp8") {
    return file.imply(name, "finetune.precision", toml_string(precision));
  }
  file.error(name, fmt::format("'{}' is no mixed precision", *word), "no, fp16, bf16 or fp8");
}

void read_fsdp1(ConfigReader& fsdp) {
  if (fsdp.has("fsdp_version")) fsdp.imply("fsdp_version", "parallel.strategy", toml_string("fsdp1"));
  else fsdp.imply_default("parallel.strategy", toml_string("fsdp1"), "fsdp_version: 1, accelerate's default");
  const std::string strategy = fsdp.has("fsdp_sharding_strategy") ? "fsdp_sharding_strategy"
                                                                  : "fsdp_reshard_after_forward";
  if (const auto word = fsdp.word(strategy)) imply_sharding(fsdp, strategy, *word);
  const std::string prefetch = fsdp.has("fsdp_backward_prefetch") ? "fsdp_backward_prefetch"
                                                                  : "fsdp_backward_prefetch_policy";
  fsdp.imply_default("parallel.fsdp1.backward_prefetch", toml_string("none"),
                     "fsdp_backward_prefetch: NO_PREFETCH, accelerate's default");
  if (const auto word = fsdp.word(prefetch)) imply_backward_prefetch(fsdp, prefetch, *word);
  if (const auto value = fsdp.flag("fsdp_forward_prefetch")) {
    fsdp.imply("fsdp_forward_prefetch", "parallel.fsdp1.forward_prefetch", toml_flag(*value));
  }
  fsdp.imply_default("parallel.fsdp1.use_orig_params", toml_flag(false),
                     "fsdp_use_orig_params: false, accelerate's default");
  if (const auto value = fsdp.flag("fsdp_use_orig_params")) {
    fsdp.imply("fsdp_use_orig_params", "parallel.fsdp1.use_orig_params", toml_flag(*value));
  }
  if (const auto value = fsdp.flag("fsdp_limit_all_gathers")) {
    fsdp.imply("fsdp_limit_all_gathers", "parallel.fsdp1.limit_all_gathers", toml_flag(*value));
  }
}

void read_fsdp2(ConfigReader& fsdp) {
  fsdp.imply("fsdp_version", "parallel.strategy", toml_string("fsdp2"));
  if (fsdp.has("fsdp_sharding_strategy")) {
    fsdp.leave_out("fsdp_sharding_strategy", "FSDP2 has fsdp_reshard_after_forward instead");
  }
  if (const auto value = fsdp.flag("fsdp_reshard_after_forward")) {
    fsdp.imply("fsdp_reshard_after_forward", "parallel.reshard_after_forward", toml_flag(*value));
  }
  fsdp.leave_out({"fsdp_backward_prefetch", "fsdp_backward_prefetch_policy", "fsdp_forward_prefetch",
                  "fsdp_use_orig_params", "fsdp_sync_module_states"},
                 "FSDP2 has no such choice");
}

void read_fsdp(ConfigReader& fsdp) {
  const std::int64_t version = fsdp.whole("fsdp_version", 1, 2).value_or(1);
  if (version == 2) read_fsdp2(fsdp);
  else read_fsdp1(fsdp);
  read_wrap_policy(fsdp, "fsdp_auto_wrap_policy");
  if (const auto parameters = fsdp.whole("fsdp_min_num_params", 0, most_processes * most_processes);
      parameters && *parameters > 0) {
    fsdp.refuse("fsdp_min_num_params", "units here are decoder layers", "wrap by the decoder layer's class");
  }
  if (const auto offload = fsdp.flag("fsdp_offload_params"); offload && *offload) {
    imply_offload(fsdp, "fsdp_offload_params", "parallel.offload_params", "cpu");
  }
  if (const auto value = fsdp.flag("fsdp_activation_checkpointing"); value && *value) {
    fsdp.imply("fsdp_activation_checkpointing", "finetune.activation_checkpointing", toml_string("full"));
  }
  fsdp.leave_out("fsdp_transformer_layer_cls_to_wrap", "units are decoder layers, as here");
  fsdp.leave_out({"fsdp_state_dict_type", "fsdp_sync_module_states", "fsdp_cpu_ram_efficient_loading"},
                 "for loading and saving; not part of a step");
  fsdp.finish();
}

void read_deepspeed(ConfigReader& deepspeed) {
  if (deepspeed.has("deepspeed_config_file")) {
    deepspeed.leave_out("deepspeed_config_file", "a file of its own: name it on the line too");
  }
  if (const auto stage = deepspeed.whole("zero_stage", 0, 3)) imply_zero_stage(deepspeed, "zero_stage", *stage);
  if (const auto steps = deepspeed.whole("gradient_accumulation_steps", 1, 65'536)) {
    deepspeed.imply("gradient_accumulation_steps", "batch.gradient_accumulation", std::to_string(*steps));
  }
  if (const auto norm = deepspeed.number("gradient_clipping", 0.0, 1e12)) {
    deepspeed.imply("gradient_clipping", "finetune.gradient_clipping", toml_flag(*norm > 0.0));
  }
  if (const auto device = deepspeed.word("offload_optimizer_device")) {
    imply_offload(deepspeed, "offload_optimizer_device", "parallel.offload_optimizer", *device);
  }
  if (const auto device = deepspeed.word("offload_param_device")) {
    imply_offload(deepspeed, "offload_param_device", "parallel.offload_params", *device);
  }
  deepspeed.leave_out({"zero3_init_flag", "zero3_save_16bit_model", "deepspeed_multinode_launcher",
                       "deepspeed_hostfile", "offload_optimizer_nvme_path", "offload_param_nvme_path"},
                      "for starting, loading and saving; not part of a step");
  deepspeed.finish();
}

void read_compilation(ConfigReader& dynamo) {
  if (const auto backend = dynamo.word("dynamo_backend")) {
    if (lower_case(*backend) == "inductor") {
      dynamo.imply("dynamo_backend", "finetune.elementwise", toml_string("compiled"));
    } else {
      dynamo.leave_out("dynamo_backend", "only inductor has a form of its own here");
    }
  }
  dynamo.leave_out({"dynamo_mode", "dynamo_use_dynamic", "dynamo_use_fullgraph", "dynamo_use_regional_compilation"},
                   "how torch.compile works; no form of its own here");
  dynamo.finish();
}

void read_processes(ConfigReader& file, const std::string& type) {
  const std::int64_t processes = file.whole("num_processes", 1, most_processes).value_or(1);
  const std::int64_t machines = file.whole("num_machines", 1, most_processes).value_or(1);
  if (file.has("num_machines")) {
    file.leave_out("num_machines", "the machines are those of hardware.topology");
  }
  if (processes % machines != 0) {
    file.error("num_processes", fmt::format("{} processes are not the same number on each of {} machines", processes,
                                            machines));
  }
  if (type != "NO") file.imply("num_processes", "hardware.cards", first_cards(processes));
}

/// Sharding over other dimensions than data is not described here.
void refuse_other_parallelism(ConfigReader& file) {
  std::optional<ConfigReader> parallelism = file.section("parallelism_config");
  if (!parallelism) return;
  for (const char* name : {"parallelism_config_tp_size", "parallelism_config_cp_size"}) {
    if (const auto size = parallelism->whole(name, 1, most_processes); size && *size > 1) {
      parallelism->refuse(name, "ranks share data here, not tensors or sequences");
    }
  }
  parallelism->leave_out({"parallelism_config_dp_shard_size", "parallelism_config_dp_replicate_size"},
                         "name the group of a hybrid sharding with parallel.shard_group");
  parallelism->finish();
}

void read_type(ConfigReader& file) {
  const std::string type = file.word("distributed_type").value_or("NO");
  if (type == "NO" || type == "no") file.imply("distributed_type", "parallel.strategy", toml_string("none"));
  else if (type == "MULTI_GPU") file.imply("distributed_type", "parallel.strategy", toml_string("ddp"));
  else if (type == "FSDP" || type == "DEEPSPEED") {
    const std::string name = type == "FSDP" ? "fsdp_config" : "deepspeed_config";
    std::optional<ConfigReader> section = file.section(name);
    if (!section) file.error("distributed_type", "distributed_type is " + type + ", but there is no " + name);
    else if (type == "FSDP") read_fsdp(*section);
    else read_deepspeed(*section);
  } else {
    file.refuse("distributed_type", "the step is not one of DDP, FSDP or DeepSpeed on cards",
                "NO, MULTI_GPU, FSDP or DEEPSPEED");
  }
  read_processes(file, type == "no" ? "NO" : type);
}

}  // namespace

bool is_accelerate(const Node::Table& file) {
  return find(file, "distributed_type") != nullptr || find(file, "compute_environment") != nullptr;
}

void import_accelerate(ConfigReader& file) {
  read_type(file);
  read_precision(file);
  refuse_other_parallelism(file);
  if (const auto steps = file.whole("gradient_accumulation_steps", 1, 65'536)) {
    file.imply("gradient_accumulation_steps", "batch.gradient_accumulation", std::to_string(*steps));
  }
  if (const auto on_cpu = file.flag("use_cpu"); on_cpu && *on_cpu) file.refuse("use_cpu", "kernels run on cards");
  if (std::optional<ConfigReader> dynamo = file.section("dynamo_config")) read_compilation(*dynamo);
  file.leave_out({"fsdp_config", "deepspeed_config"}, "another distributed_type is chosen");
  file.leave_out({"compute_environment", "machine_rank", "main_process_ip", "main_process_port",
                  "main_training_function", "rdzv_backend", "rdzv_conf", "same_network", "gpu_ids", "debug",
                  "enable_cpu_affinity", "downcast_bf16", "tpu_env", "tpu_use_cluster", "tpu_use_sudo", "tpu_name",
                  "tpu_zone", "command_file", "commands", "deepspeed_hostfile", "megatron_lm_config", "ipex_config",
                  "mpirun_config", "fp8_config"},
                 "how processes are started; not part of a step");
  file.finish();
}

}  // namespace takt
