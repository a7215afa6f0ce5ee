#include "report/wording.hpp"

#include "base/contract.hpp"
#include "report/format.hpp"
#include "workload/precision.hpp"

namespace takt {
namespace {

std::string name_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::adamw:
      return "AdamW";
    case Optimizer::adamw_8bit:
      return "8-bit AdamW";
    case Optimizer::paged_adamw_8bit:
      return "paged 8-bit AdamW";
    case Optimizer::sgd:
      return "SGD";
  }
  unreachable("an unknown optimizer");
}

std::string name_of(Checkpointing checkpointing) {
  switch (checkpointing) {
    case Checkpointing::none:
      return "no checkpointing";
    case Checkpointing::selective:
      return "selective checkpointing";
    case Checkpointing::full:
      return "full checkpointing";
  }
  unreachable("an unknown form of checkpointing");
}

std::string name_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::none:
      return "one card";
    case Strategy::ddp:
      return "DDP";
    case Strategy::fsdp1:
      return "FSDP1";
    case Strategy::fsdp2:
      return "FSDP2";
    case Strategy::zero1:
      return "ZeRO-1";
    case Strategy::zero2:
      return "ZeRO-2";
    case Strategy::zero3:
      return "ZeRO-3";
  }
  unreachable("an unknown strategy");
}

std::string name_of(Method method, const LoraSettings& lora) {
  switch (method) {
    case Method::full:
      return "full fine-tune";
    case Method::lora:
      return "LoRA rank " + std::to_string(lora.rank);
    case Method::qlora:
      return "QLoRA rank " + std::to_string(lora.rank);
  }
  unreachable("an unknown method");
}

}  // namespace

std::string describe_method(const Scenario& scenario) {
  return describe_states(scenario) + ", " + describe_checkpointing(scenario);
}

std::string describe_states(const Scenario& scenario) {
  const FinetuneSettings& finetune = scenario.finetune;
  return name_of(finetune.method, finetune.lora) + ", " + std::string(takt::name_of(finetune.precision)) + ", " +
         name_of(finetune.optimizer);
}

std::string describe_checkpointing(const Scenario& scenario) {
  return name_of(scenario.finetune.activation_checkpointing);
}

std::string describe_strategy(const RunResult& result) {
  const ParallelSettings& parallel = result.scenario.parallel;
  std::string text = name_of(parallel.strategy);
  if (parallel.strategy == Strategy::none) return text;
  const bool is_fsdp = parallel.strategy == Strategy::fsdp1 || parallel.strategy == Strategy::fsdp2;
  if (is_fsdp && parallel.sharding == Sharding::full) text += " full shard";
  if (is_fsdp && parallel.sharding == Sharding::grad_op) text += " shard grad-op";
  if (is_fsdp && parallel.sharding == Sharding::no_shard) text += " without sharding";
  const bool keeps = parallel.sharding == Sharding::hybrid_grad_op;
  if (is_fsdp && (parallel.sharding == Sharding::hybrid || keeps)) {
    return text + (keeps ? " hybrid grad-op: " : " hybrid: ") + format_count(result.facts.replicas) + " replicas of " +
           format_count(result.facts.shard_ranks) + " ranks";
  }
  return text + " over " + format_count(result.metrics.ranks) + " ranks";
}

std::string describe_batch(const Scenario& scenario) {
  const BatchSettings& batch = scenario.batch;
  return format_count(batch.micro_batch) + " x " + format_count(batch.sequence_length) + " tokens a micro-batch, " +
         format_count(batch.gradient_accumulation) +
         (batch.gradient_accumulation == 1 ? " micro-batch a step" : " micro-batches a step");
}

std::string describe_cards(const RunResult& result) {
  return std::to_string(result.metrics.ranks) + "x " + result.card_name;
}

std::string describe_limits(const StepMetrics& metrics) {
  constexpr std::size_t most_causes = 3;
  constexpr double enough = 0.8;  // of the critical path
  constexpr double too_small = 0.05;
  std::string text;
  double told = 0.0;
  for (std::size_t i = 0; i < metrics.blame.size() && i < most_causes && told < enough; ++i) {
    const BlameEntry& entry = metrics.blame[i];
    if (i > 0 && entry.share < too_small) break;
    text += (i > 0 ? ", " : "") + entry.resource + " (" + format_share(entry.share) + ")";
    told += entry.share;
  }
  return text.empty() ? "nothing" : text;
}

const std::string& title_of(const Scenario& scenario) {
  return scenario.title.empty() ? scenario.name : scenario.title;
}

}  // namespace takt
