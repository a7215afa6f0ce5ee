#include "config/scenario_checks.hpp"

#include "config/platform_keys.hpp"
#include "config/scenario_keys.hpp"
#include "config/words.hpp"

#include <array>
#include <fmt/format.h>

namespace takt {
namespace {

bool is_fsdp(Strategy strategy) {
  return strategy == Strategy::fsdp1 || strategy == Strategy::fsdp2;
}

bool is_hybrid(Sharding sharding) {
  return sharding == Sharding::hybrid || sharding == Sharding::hybrid_grad_op;
}
bool keeps_parameters(Sharding sharding) {
  return sharding == Sharding::grad_op || sharding == Sharding::hybrid_grad_op;
}

/// A key that matters only under some values of another key.
struct Dependence {
  const char* key;
  const char* on;  ///< the key that decides
  bool (*matters)(const Scenario&);
  const char* reason;
};

constexpr auto has_adapters = [](const Scenario& s) { return s.finetune.method != Method::full; };
constexpr auto checkpoints = [](const Scenario& s) {
  return s.finetune.activation_checkpointing != Checkpointing::none;
};
constexpr auto is_fsdp1 = [](const Scenario& s) { return s.parallel.strategy == Strategy::fsdp1; };
constexpr auto is_fsdp2 = [](const Scenario& s) { return s.parallel.strategy == Strategy::fsdp2; };
constexpr auto accumulates = [](const Scenario& s) { return s.batch.gradient_accumulation > 1; };
constexpr auto is_zero = [](const Scenario& s) {
  return s.parallel.strategy == Strategy::zero1 || s.parallel.strategy == Strategy::zero2 ||
         s.parallel.strategy == Strategy::zero3;
};
constexpr auto is_zero3 = [](const Scenario& s) { return s.parallel.strategy == Strategy::zero3; };
constexpr auto offloads = [](const Scenario& s) {
  return s.parallel.offload_optimizer != Offload::none || s.parallel.offload_params != Offload::none;
};
constexpr auto is_ddp = [](const Scenario& s) { return s.parallel.strategy == Strategy::ddp; };

constexpr std::array dependences = {
    Dependence{"finetune.lora.rank", "finetune.method", has_adapters, "only lora and qlora have adapters"},
    Dependence{"finetune.lora.targets", "finetune.method", has_adapters, "only lora and qlora have adapters"},
    Dependence{"finetune.lora.dropout", "finetune.method", has_adapters, "only lora and qlora have adapters"},
    Dependence{"finetune.lora.adapter_precision", "finetune.method", has_adapters, "only lora and qlora have adapters"},
    Dependence{
        "finetune.lora.autocast", "finetune.lora.adapter_precision",
        [](const Scenario& s) { return has_adapters(s) && s.finetune.lora.adapter_precision == Precision::fp32; },
        "only fp32 adapters are cast"},
    Dependence{"finetune.master_precision", "finetune.method",
               [](const Scenario& s) { return s.finetune.method == Method::full; },
               "adapters are as finetune.lora.adapter_precision says"},
    Dependence{"finetune.checkpoint_every", "finetune.activation_checkpointing", checkpoints,
               "nothing is checkpointed"},
    Dependence{"finetune.checkpoint_reentrant", "finetune.activation_checkpointing", checkpoints,
               "nothing is checkpointed"},
    Dependence{"finetune.double_quantisation", "finetune.method",
               [](const Scenario& s) { return s.finetune.method == Method::qlora; }, "only qlora quantises weights"},
    Dependence{"finetune.optimizer_form", "finetune.optimizer",
               [](const Scenario& s) {
                 return s.finetune.optimizer == Optimizer::adamw || s.finetune.optimizer == Optimizer::sgd;
               },
               "8-bit optimizers have one form"},
    Dependence{"parallel.sharding", "parallel.strategy",
               [](const Scenario& s) {  // other values than full are errors, see check_sharding
                 return is_fsdp(s.parallel.strategy) || s.parallel.sharding != Sharding::full;
               },
               "only fsdp1 and fsdp2 shard by it"},
    Dependence{"parallel.shard_group", "parallel.sharding",
               [](const Scenario& s) { return is_hybrid(s.parallel.sharding); }, "only hybrid sharding has groups"},
    Dependence{"parallel.prefetch", "parallel.strategy",
               is_fsdp2,
               "only fsdp2 counts units ahead; fsdp1 has backward_prefetch, zero3 has zero.prefetch_bucket_size"},
    Dependence{"parallel.bucket_size", "parallel.strategy",
               is_ddp, "only ddp has buckets of bytes; the zero stages have zero.reduce_bucket_size"},
    Dependence{"parallel.first_bucket_small", "parallel.strategy", is_ddp, "only ddp has a small first bucket"},
    Dependence{"parallel.gradient_as_bucket_view", "parallel.strategy", is_ddp, "only ddp has this choice"},
    Dependence{"parallel.reshard_after_forward", "parallel.strategy", is_fsdp2, "only fsdp2 has this choice"},
    Dependence{"parallel.ddp.find_unused_parameters", "parallel.strategy", is_ddp, "only ddp has this choice"},
    Dependence{"parallel.ddp.static_graph", "parallel.strategy", is_ddp, "only ddp has this choice"},
    Dependence{"parallel.ddp.broadcast_buffers", "parallel.strategy", is_ddp, "only ddp has this choice"},
    Dependence{"parallel.ddp.comm_hook", "parallel.strategy", is_ddp, "only ddp has this choice"},
    Dependence{"parallel.fsdp1.backward_prefetch", "parallel.strategy", is_fsdp1, "only fsdp1 has this choice"},
    Dependence{"parallel.fsdp1.forward_prefetch", "parallel.strategy", is_fsdp1, "only fsdp1 has this choice"},
    Dependence{"parallel.fsdp1.limit_all_gathers", "parallel.strategy", is_fsdp1, "only fsdp1 has this choice"},
    Dependence{"parallel.fsdp1.use_orig_params", "parallel.strategy", is_fsdp1, "only fsdp1 has this choice"},
    Dependence{"parallel.fsdp1.wrap_policy", "parallel.strategy", is_fsdp1, "only fsdp1 has this choice"},
    Dependence{"parallel.fsdp2.reshard_group", "parallel.strategy", is_fsdp2, "only fsdp2 has this choice"},
    Dependence{"parallel.fsdp2.reshard_after_backward", "parallel.strategy", is_fsdp2, "only fsdp2 has this choice"},
    Dependence{"parallel.fsdp2.all_reduce_each_micro_step", "parallel.sharding",
               [](const Scenario& s) { return is_hybrid(s.parallel.sharding); }, "only hybrid sharding has replicas"},
    Dependence{"parallel.fsdp2.wait_each_micro_step", "parallel.strategy", is_fsdp2, "only fsdp2 has this choice"},
    Dependence{"parallel.fsdp2.wait_each_micro_step", "batch.gradient_accumulation",
               [](const Scenario& s) { return !is_fsdp2(s) || accumulates(s); }, "a step has only one micro-step"},
    Dependence{"parallel.fsdp2.embedding_unit", "parallel.strategy", is_fsdp2, "only fsdp2 has this choice"},
    Dependence{"parallel.fsdp2.unshard_in_backward", "parallel.fsdp2.embedding_unit",
               [](const Scenario& s) { return s.parallel.fsdp2.embedding_unit; },
               "the embedding is in the root, which stays gathered"},
    Dependence{"finetune.reduce_precision", "parallel.strategy",
               [](const Scenario& s) { return is_fsdp(s.parallel.strategy); }, "only fsdp1 and fsdp2 reduce by it"},
    Dependence{"parallel.zero.reduce_bucket_size", "parallel.strategy", is_zero, "only the zero stages have this choice"},
    Dependence{"parallel.zero.overlap_comm", "parallel.strategy", is_zero, "only the zero stages have this choice"},
    Dependence{"parallel.zero.prefetch_bucket_size", "parallel.strategy", is_zero3, "only zero3 gathers parameters"},
    Dependence{"parallel.zero.param_persistence_threshold", "parallel.strategy", is_zero3,
               "only zero3 gathers parameters"},
    Dependence{"parallel.zero.max_live_parameters", "parallel.strategy", is_zero3, "only zero3 gathers parameters"},
    Dependence{"parallel.zero.max_reuse_distance", "parallel.strategy", is_zero3, "only zero3 gathers parameters"},
    Dependence{"parallel.zero.sub_group_size", "parallel.strategy", is_zero3, "only zero3 has sub-groups"},
    Dependence{"assumptions.cpu_adam_traffic", "parallel.offload_optimizer", offloads, "nothing is offloaded"},
    Dependence{"assumptions.torch_cpu_adam", "parallel.offload_params",
               [](const Scenario& s) { return offloads(s) && is_fsdp(s.parallel.strategy); },
               "only FSDP offloads to PyTorch's optimizer"},
    Dependence{"parallel.sync_each_micro_step", "batch.gradient_accumulation", accumulates,
               "a step has only one micro-step"},
    Dependence{"collectives.chunk", "collectives.fidelity",
               [](const Scenario& s) { return s.collectives.fidelity == Fidelity::chunked; },
               "only chunked fidelity has chunks"},
    Dependence{"assumptions.sm_slowdown", "assumptions.sm_contention",
               [](const Scenario& s) { return s.assumptions.sm_contention; }, "sm_contention is off"},
    Dependence{"assumptions.fsdp1_hook", "parallel.strategy",
               [](const Scenario& s) { return s.parallel.strategy == Strategy::fsdp1; }, "only fsdp1 has these hooks"},
    Dependence{"assumptions.fsdp2_hook", "parallel.strategy",
               [](const Scenario& s) { return s.parallel.strategy == Strategy::fsdp2; }, "only fsdp2 has these hooks"},
    Dependence{"assumptions.ddp_hook", "parallel.strategy", is_ddp, "only ddp has this hook"},
    Dependence{"assumptions.seed", "assumptions.jitter", [](const Scenario& s) { return s.assumptions.jitter > 0.0; },
               "nothing is random without jitter"},
    Dependence{"assumptions.hbm_traffic_factor", "assumptions.memory_contention",
               [](const Scenario& s) { return s.assumptions.memory_contention; }, "memory_contention is off"},
};

/// Warns of keys without effect: those that differ from their default, and those that are set while the deciding key
/// was left at its default (`lora = { rank = 16 }` in a file that forgot the method).
void warn_of_idle_keys(const Scenario& scenario, Reading& reading) {
  for (const Dependence& dependence : dependences) {
    if (!reading.is_set(dependence.key) || !reading.is_sound(dependence.on) || dependence.matters(scenario)) continue;
    const KeyTable<Scenario>& table = scenario_keys();
    const bool at_default = table.write(dependence.key, scenario) == table.write(dependence.key, Scenario{});
    const bool decided = reading.is_set(dependence.on);
    if (at_default && decided) continue;
    reading.warning(
        reading.places.at(dependence.key), fmt::format("{} has no effect: {}", dependence.key, dependence.reason),
        fmt::format("{} is {}{}", dependence.on, table.write(dependence.on, scenario), decided ? "" : ", its default"));
  }
}

void check_sharding(const Scenario& scenario, Reading& reading) {
  if (!reading.is_set("parallel.sharding") || !reading.is_sound("parallel.strategy")) return;
  const ParallelSettings& parallel = scenario.parallel;
  if (parallel.sharding != Sharding::full && !is_fsdp(parallel.strategy)) {
    reading.error(reading.places.at("parallel.sharding"),
                  fmt::format("{} sharding is FSDP's, but parallel.strategy is \"{}\"", word(parallel.sharding),
                              word(parallel.strategy)),
                  "set strategy = \"fsdp2\" or \"fsdp1\", or leave sharding out");
  }
  const bool keeps = keeps_parameters(parallel.sharding) && parallel.strategy == Strategy::fsdp2;
  if (keeps && reading.is_set("parallel.reshard_after_forward") && parallel.reshard_after_forward) {
    reading.error(
        reading.places.at("parallel.reshard_after_forward"),
        fmt::format("reshard_after_forward = true contradicts sharding = \"{}\", which keeps parameters after "
                    "forward",
                    word(parallel.sharding)),
        "leave one of the two out");
  }
  if (parallel.sharding == Sharding::no_shard && parallel.strategy == Strategy::fsdp2) {
    reading.error(reading.places.at("parallel.sharding"), "fsdp2 has no form that shards nothing",
                  "use strategy = \"ddp\", or fsdp1 for its NO_SHARD");
  }
}

/// ZeRO keeps optimizer states away from the card at any stage, parameters at stage 3; FSDP offloads both, to the CPU.
void check_offload(const Scenario& scenario, Reading& reading) {
  if (!reading.is_sound("parallel.strategy")) return;
  const ParallelSettings& parallel = scenario.parallel;
  const auto refuse = [&](const char* key, std::string message, std::string hint) {
    reading.error(place_of(reading.places, key, scenario.file), std::move(message), std::move(hint));
  };
  if (parallel.offload_optimizer != Offload::none && !is_zero(scenario)) {
    refuse("parallel.offload_optimizer",
           fmt::format("only ZeRO offloads optimizer states by themselves, but parallel.strategy is \"{}\"",
                       word(parallel.strategy)),
           is_fsdp(parallel.strategy) ? "FSDP offloads parameters and optimizer together: offload_params = \"cpu\""
                                      : "set strategy = \"zero1\", \"zero2\" or \"zero3\"");
  }
  if (parallel.offload_params != Offload::none && !is_zero3(scenario) && !is_fsdp(parallel.strategy)) {
    refuse("parallel.offload_params",
           fmt::format("only zero3, fsdp1 and fsdp2 offload parameters, but parallel.strategy is \"{}\"",
                       word(parallel.strategy)),
           "set strategy = \"zero3\", \"fsdp1\" or \"fsdp2\"");
  }
  if (parallel.offload_params == Offload::nvme && is_fsdp(parallel.strategy)) {
    refuse("parallel.offload_params", "FSDP offloads to host memory only", "offload_params = \"cpu\", or zero3");
  }
  if (parallel.offload_params == Offload::cpu && parallel.strategy == Strategy::fsdp1 &&
      parallel.sync_each_micro_step && scenario.batch.gradient_accumulation > 1) {
    refuse("parallel.offload_params", "FSDP1 cannot add reduced gradients of several micro-steps on the CPU",
           "sync_each_micro_step = false, or one micro-step a step");
  }
  const bool adam = scenario.finetune.optimizer == Optimizer::adamw;
  if (offloads(scenario) && !adam && reading.is_sound("finetune.optimizer")) {
    refuse(reading.is_set("finetune.optimizer") ? "finetune.optimizer" : "parallel.offload_params",
           fmt::format("the optimizer on the CPU is AdamW, not {}", word(scenario.finetune.optimizer)),
           "finetune.optimizer = \"adamw\", or no offload");
  }
}

/// The format in which the parameters of the base stand in memory; of 4-bit weights their containers' (F44).
Precision base_format(Precision precision) {
  const bool narrow = precision == Precision::fp8 || precision == Precision::nvfp4;
  if (narrow) return Precision::bf16;
  return precision == Precision::tf32 ? Precision::fp32 : precision;
}

/// Adapters inside a decoder layer's unit share its flat parameter with the frozen base (semantics F2, F42).
void check_flat_parameters(const Scenario& scenario, Reading& reading) {
  const ParallelSettings& parallel = scenario.parallel;
  const FinetuneSettings& finetune = scenario.finetune;
  if (parallel.strategy != Strategy::fsdp1 || !reading.is_set("parallel.strategy")) return;
  if (finetune.method == Method::full || parallel.fsdp1.wrap_policy == WrapPolicy::peft) return;
  const SourcePlace& place = reading.places.at("parallel.strategy");
  if (!parallel.fsdp1.use_orig_params) {
    reading.error(place, "without use_orig_params a unit of fsdp1 cannot hold frozen weights and adapters",
                  "set parallel.fsdp1.wrap_policy = \"peft\", or use_orig_params = true");
  } else if (finetune.lora.adapter_precision != base_format(finetune.precision)) {
    reading.error(
        place,
        fmt::format("a unit of fsdp1 has parameters of one format, but the adapters are {} and the base is {}",
                    word(finetune.lora.adapter_precision), word(base_format(finetune.precision))),
        fmt::format("set parallel.fsdp1.wrap_policy = \"peft\", or finetune.lora.adapter_precision = \"{}\"",
                    word(base_format(finetune.precision))));
  }
}

void check_ddp(const Scenario& scenario, Reading& reading) {
  const DdpSettings& ddp = scenario.parallel.ddp;
  if (scenario.parallel.strategy != Strategy::ddp) return;
  if (!ddp.find_unused_parameters || !ddp.static_graph || !reading.is_set("parallel.ddp.static_graph")) return;
  reading.warning(reading.places.at("parallel.ddp.static_graph"),
                  "find_unused_parameters has no effect under static_graph, which knows what is used",
                  "leave one of the two out");
}

void check_precision(const Scenario& scenario, Reading& reading) {
  const FinetuneSettings& finetune = scenario.finetune;
  if (!reading.is_set("finetune.precision") || !reading.is_sound("finetune.method")) return;
  const bool narrow = finetune.precision == Precision::fp8 || finetune.precision == Precision::nvfp4 ||
                      finetune.precision == Precision::mxfp8;
  if (finetune.method == Method::qlora && narrow) {
    reading.error(reading.places.at("finetune.precision"),
                  fmt::format("qlora expands its 4-bit weights before each product and cannot compute in {}",
                              word(finetune.precision)),
                  "use bf16 or fp16");
  }
}

void check_master_precision(const Scenario& scenario, Reading& reading) {
  const FinetuneSettings& finetune = scenario.finetune;
  if (!reading.is_set("finetune.master_precision") || !reading.is_sound("finetune.precision")) return;
  if (finetune.master_precision != Precision::bf16 || finetune.precision == Precision::bf16) return;
  reading.error(reading.places.at("finetune.master_precision"),
                fmt::format("weights in pure bf16 compute in bf16, not in {}", word(finetune.precision)),
                "set finetune.precision = \"bf16\", or keep fp32 master weights");
}

void check_cards(const Scenario& scenario, Reading& reading) {
  if (!reading.is_set("hardware.cards") || !reading.is_sound("parallel.strategy")) return;
  if (scenario.parallel.strategy != Strategy::none || scenario.cards.size() < 2) return;
  reading.error(reading.places.at("hardware.cards"),
                fmt::format("{} cards, but parallel.strategy is \"none\"{}, which runs on one", scenario.cards.size(),
                            reading.is_set("parallel.strategy") ? "" : " by default"),
                "set a strategy such as \"ddp\" or \"fsdp2\", or name one card");
}

void check_packing(const Scenario& scenario, Reading& reading) {
  if (!reading.is_set("batch.packing") || !reading.is_sound("batch.sequence_length")) return;
  std::int64_t sum = 0;
  for (const std::int64_t length : scenario.batch.packing) sum += length;
  if (sum <= scenario.batch.sequence_length) return;
  reading.error(
      reading.places.at("batch.packing"),
      fmt::format("documents of {} tokens do not fit in a sequence of {}", sum, scenario.batch.sequence_length),
      "make the sequence longer, or name fewer or shorter documents");
}

/// NCCL does not support MIG: an instance can never be a rank of a run on several cards (NVIDIA MIG user guide).
void check_slice(const Scenario& scenario, Reading& reading) {
  if (scenario.mig.empty() || !reading.is_sound("parallel.strategy")) return;
  if (scenario.parallel.strategy != Strategy::none) {
    reading.error(reading.places.at("hardware.mig"),
                  fmt::format("a MIG slice cannot be a rank under {}: NCCL does not support MIG",
                              word(scenario.parallel.strategy)),
                  "leave parallel.strategy out: slices run separate jobs; or leave hardware.mig out");
  }
  if (scenario.power_limit && reading.is_set("hardware.power_limit")) {
    reading.error(reading.places.at("hardware.power_limit"),
                  "a power limit is the whole card's: what it leaves a slice depends on the other slices",
                  "leave out hardware.power_limit or hardware.mig");
  }
}

/// A price is spread over years, and watts cost only at a price.
void check_cost(const Scenario& scenario, Reading& reading) {
  const CostSettings& cost = scenario.cost;
  const char* price = cost.card ? "cost.card" : cost.server ? "cost.server" : nullptr;
  if (price != nullptr && !cost.years && reading.is_sound("cost.years")) {
    reading.error(place_of(reading.places, price, scenario.file),
                  fmt::format("{} without cost.years: a price alone costs nothing an hour", price),
                  "set cost.years, the years over which it is written off");
  }
  if (cost.years && !cost.card && !cost.server) {
    reading.warning(place_of(reading.places, "cost.years", scenario.file),
                    "cost.years has no effect: nothing is bought", "set cost.card or cost.server");
  }
  if (cost.server_power && !cost.power_price) {
    reading.warning(place_of(reading.places, "cost.server_power", scenario.file),
                    "cost.server_power has no effect: power has no price", "set cost.power_price");
  }
}

}  // namespace

void resolve_defaults(Scenario& scenario, const Reading& reading) {
  if (scenario.title.empty()) scenario.title = scenario.name;
  ParallelSettings& parallel = scenario.parallel;
  // An explicit bucket_cap_mb holds for the first bucket too (semantics D4).
  const bool own_bucket = reading.is_set("parallel.bucket_size") && !reading.is_set("parallel.first_bucket_small");
  if (own_bucket) parallel.first_bucket_small = false;
  // FSDP2 has no SHARD_GRAD_OP: it is full sharding without resharding after forward (semantics S8).
  const bool keeps = parallel.strategy == Strategy::fsdp2 && keeps_parameters(parallel.sharding);
  if (keeps && !reading.is_set("parallel.reshard_after_forward")) parallel.reshard_after_forward = false;
  // Hugging Face's Trainer accumulates under no_sync with DDP.
  const bool accumulates = parallel.strategy == Strategy::ddp && !reading.is_set("parallel.sync_each_micro_step");
  if (accumulates) parallel.sync_each_micro_step = false;
}

void check_scenario(const Scenario& scenario, Reading& reading) {
  check_sharding(scenario, reading);
  check_offload(scenario, reading);
  check_flat_parameters(scenario, reading);
  check_ddp(scenario, reading);
  check_precision(scenario, reading);
  check_master_precision(scenario, reading);
  check_cards(scenario, reading);
  check_platform(scenario.platform, reading);
  check_packing(scenario, reading);
  check_slice(scenario, reading);
  check_cost(scenario, reading);
  warn_of_idle_keys(scenario, reading);
}

}  // namespace takt
