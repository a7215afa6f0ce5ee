// DeepSpeed's JSON configuration.
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "config/import/kinds.hpp"
#include "config/toml_text.hpp"

namespace takt {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 50;

void read_precision(ConfigReader& file) {
  for (const char* name : {"bf16", "bfloat16", "fp16"}) {
    std::optional<ConfigReader> section = file.section(name);
    if (!section) continue;
    const std::string word = std::string(name) == "fp16" ? "fp16" : "bf16";
    if (const auto enabled = section->flag("enabled"); enabled && *enabled) {
      section->imply("enabled", "finetune.precision", toml_string(word));
    }
    section->leave_out({"enabled", "auto_cast", "loss_scale", "loss_scale_window", "initial_scale_power", "hysteresis",
                        "consecutive_hysteresis", "min_loss_scale", "immediate_grad_update", "check_grad_overflow"},
                       "off, or the scale of the loss");
    section->finish();
  }
}

void read_batch(ConfigReader& file) {
  const auto micro = file.whole("train_micro_batch_size_per_gpu", 1, 65'536);
  if (micro) file.imply("train_micro_batch_size_per_gpu", "batch.micro_batch", std::to_string(*micro));
  const auto steps = file.whole("gradient_accumulation_steps", 1, 65'536);
  if (steps) file.imply("gradient_accumulation_steps", "batch.gradient_accumulation", std::to_string(*steps));
  const auto all = file.whole("train_batch_size", 1, most_elements);
  if (!all) return;
  const std::int64_t of_a_rank = micro.value_or(1) * steps.value_or(1);
  if (micro && *all % of_a_rank != 0) {
    return file.error("train_batch_size",
                      fmt::format("{} sequences a step are no multiple of micro-batch times accumulation, {}", *all,
                                  of_a_rank));
  }
  if (micro && steps) file.imply("train_batch_size", "hardware.cards", first_cards(*all / of_a_rank));
  else file.leave_out("train_batch_size", "follows from micro-batch, accumulation and cards");
}

void read_offload(ConfigReader& zero, const std::string& name, const std::string& key) {
  std::optional<ConfigReader> offload = zero.section(name);
  if (!offload) return;
  if (const auto device = offload->word("device")) imply_offload(*offload, "device", key, *device);
  if (const auto ratio = offload->number("ratio", 0.0, 1.0); ratio && *ratio < 1.0) {
    offload->refuse("ratio", "all states are offloaded here, or none");
  }
  offload->leave_out({"ratio", "pin_memory", "buffer_count", "buffer_size", "max_in_cpu", "nvme_path", "fast_init",
                      "pipeline", "pipeline_read", "pipeline_write"},
                     "pinned buffers of the right size are taken for granted");
  offload->finish();
}

/// A number of elements. "auto" is what the Trainer makes of the model's hidden size h: a h^2 + b h.
struct ElementsField {
  const char* name;
  const char* key;
  double square = 0.0;
  double linear = 0.0;
};

constexpr std::array element_fields = {
    ElementsField{"reduce_bucket_size", "parallel.zero.reduce_bucket_size", 1.0, 0.0},
    ElementsField{"stage3_prefetch_bucket_size", "parallel.zero.prefetch_bucket_size", 0.9, 0.0},
    ElementsField{"stage3_param_persistence_threshold", "parallel.zero.param_persistence_threshold", 0.0, 10.0},
    ElementsField{"stage3_max_live_parameters", "parallel.zero.max_live_parameters", 0.0, 0.0},
    ElementsField{"stage3_max_reuse_distance", "parallel.zero.max_reuse_distance", 0.0, 0.0},
    ElementsField{"sub_group_size", "parallel.zero.sub_group_size", 0.0, 0.0}};

void read_elements(ConfigReader& zero, std::int64_t stage) {
  for (const ElementsField& field : element_fields) {
    const bool of_stage_3 = std::string_view(field.name) != "reduce_bucket_size";
    if (of_stage_3 && stage != 3) {
      zero.leave_out(field.name, "only stage 3 has it");
    } else if (field.square + field.linear > 0.0 && zero.says_auto(field.name)) {
      zero.imply_by_hidden_size(field.name, field.key, field.square, field.linear);
    } else if (const auto elements = zero.whole(field.name, 0, most_elements)) {
      zero.imply(field.name, field.key, std::to_string(*elements));
    }
  }
  if (const auto overlap = zero.flag("overlap_comm")) {
    zero.imply("overlap_comm", "parallel.zero.overlap_comm", toml_flag(*overlap));
  }
  if (const auto ranks = zero.whole("zero_hpz_partition_size", 1, most_elements); ranks && *ranks > 1) {
    zero.refuse("zero_hpz_partition_size", "there is no second copy of the shards within a server");
  }
}

void read_zero(ConfigReader& zero) {
  const std::int64_t stage = zero.whole("stage", 0, 3).value_or(0);
  imply_zero_stage(zero, "stage", stage);
  if (stage > 0) read_elements(zero, stage);
  read_offload(zero, "offload_optimizer", "parallel.offload_optimizer");
  read_offload(zero, "offload_param", "parallel.offload_params");
  if (const auto on = zero.flag("cpu_offload"); on && *on) {
    imply_offload(zero, "cpu_offload", "parallel.offload_optimizer", "cpu");
  }
  for (const char* name : {"zero_quantized_weights", "zero_quantized_gradients", "zero_quantized_nontrainable_weights"}) {
    if (zero.flag(name).value_or(false)) zero.refuse(name, "what is communicated is not quantised");
  }
  zero.leave_out("allgather_bucket_size", "the gather after the step is one call");
  zero.leave_out({"reduce_scatter", "allgather_partitions", "contiguous_gradients", "zero_hpz_partition_size", "cpu_offload", "zero_quantized_weights",
                  "zero_quantized_gradients", "zero_quantized_nontrainable_weights", "cpu_offload_params",
                  "cpu_offload_use_pin_memory"},
                 "as it is here");
  zero.leave_out({"round_robin_gradients", "elastic_checkpoint", "load_from_fp32_weights", "ignore_unused_parameters",
                  "legacy_stage1", "stage3_gather_fp16_weights_on_model_save",
                  "stage3_gather_16bit_weights_on_model_save", "gather_16bit_weights_on_model_save", "use_all_reduce_for_fetch_params",
                  "memory_efficient_linear", "log_trace_cache_warnings", "override_module_apply"},
                 "for loading and saving, or without effect on a step's time");
  zero.finish();
}

void read_optimizer(ConfigReader& file) {
  std::optional<ConfigReader> optimizer = file.section("optimizer");
  if (!optimizer) return;
  const std::string type = optimizer->word("type").value_or("");
  if (type == "Adam" || type == "AdamW") {
    optimizer->imply("type", "finetune.optimizer", toml_string("adamw"));
    bool torch_form = false;
    if (std::optional<ConfigReader> parameters = optimizer->section("params")) {
      torch_form = parameters->flag("torch_adam").value_or(false);
    }
    optimizer->imply("type", "finetune.optimizer_form", toml_string(torch_form ? "foreach" : "fused"));
  } else if (type == "SGD") {
    optimizer->imply("type", "finetune.optimizer", toml_string("sgd"));
  } else {
    optimizer->refuse("type", "an optimizer with other states and kernels than those described", "Adam, AdamW or SGD");
  }
  optimizer->leave_out("params", "what is learned, not how fast");
  optimizer->finish();
}

}  // namespace

bool is_deepspeed(const Node::Table& file) {
  for (const char* field : {"zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size"}) {
    if (find(file, field) != nullptr) return true;
  }
  return false;
}

void import_deepspeed(ConfigReader& file) {
  read_batch(file);
  read_precision(file);
  std::optional<ConfigReader> zero = file.section("zero_optimization");
  if (zero) read_zero(*zero);
  else file.imply_default("parallel.strategy", toml_string("ddp"), "no zero_optimization: stage 0");
  if (const auto norm = file.number("gradient_clipping", 0.0, 1e12)) {
    file.imply("gradient_clipping", "finetune.gradient_clipping", toml_flag(*norm > 0.0));
  }
  read_optimizer(file);
  for (const char* name : {"pipeline", "tensor_parallel", "sparse_attention", "compression_training", "hybrid_engine"}) {
    if (file.has(name)) file.refuse(name, "no key describes it");
  }
  file.leave_out({"scheduler", "steps_per_print", "wall_clock_breakdown", "zero_allow_untested_optimizer",
                  "zero_force_ds_cpu_optimizer", "dump_state", "tensorboard", "wandb", "csv_monitor", "comms_logger",
                  "flops_profiler", "checkpoint", "data_types", "activation_checkpointing", "aio", "elasticity",
                  "prescale_gradients", "gradient_predivide_factor", "communication_data_type", "amp", "autotuning",
                  "memory_breakdown", "data_efficiency", "seed", "gradient_accumulation_dtype", "train_batch_size"},
                 "logging, learning, or nothing that a step's time or memory here depends on");
  file.finish();
}

}  // namespace takt
