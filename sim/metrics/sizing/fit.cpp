#include "metrics/sizing/fit.hpp"

#include "metrics/sizing/plain_machine.hpp"

#include <algorithm>
#include <utility>

namespace takt {
namespace {

/// ZeRO-Offload and ZeRO-Infinity run the update on the CPU, in FP32 (semantics Z14).
std::optional<Diagnostic> complaint_about_offload(const FitQuestion& question) {
  const Scenario& scenario = question.scenario;
  if (question.offload == Offload::none) return std::nullopt;
  if (scenario.finetune.optimizer != Optimizer::adamw) {
    return Diagnostic{Severity::error, place_of(scenario.places, "finetune.optimizer", scenario.file),
                      "an offloaded optimizer runs on the CPU with 32-bit states", "use adamw, or offload none"};
  }
  const Strategy strategy = scenario.parallel.strategy;
  if (strategy == Strategy::ddp || strategy == Strategy::fsdp1 || strategy == Strategy::fsdp2) {
    return Diagnostic{Severity::error, place_of(scenario.places, "parallel.strategy", scenario.file),
                      "offload of the optimizer is counted for ZeRO's stages", "use zero3, zero2, zero1 or one card"};
  }
  return std::nullopt;
}

/// Both conventions must hold: a slice's usable memory may be less than its name says.
bool states_fit(const FitResult& result) {
  return result.free_nominal() >= Bytes{} && result.free_visible() >= Bytes{};
}

void play_step(FitResult& result, const Workload& workload) {
  const FitQuestion& question = result.question;
  if (question.offload != Offload::none) {
    result.notes.push_back({Severity::note, {}, "the peak of a step with an offloaded optimizer is not played", ""});
    return;
  }
  const Result<MemoryMetrics> memory = step_memory(question.scenario, workload, question.card, question.cards);
  if (memory) {
    result.step = *memory;
  } else {
    result.notes = memory.diagnostics();
  }
}

Verdict verdict_of(const FitResult& result) {
  if (!states_fit(result)) return Verdict::no;
  if (!result.step) return Verdict::states_fit;
  return result.step->fits ? Verdict::fits : Verdict::no;
}

/// A wish changed in one respect, with its name.
struct Change {
  std::string name;
  FitQuestion question;
};

FitQuestion with_method(FitQuestion question, Method method) {
  question.scenario.finetune.method = method;
  return question;
}

std::vector<Change> method_changes(const FitQuestion& asked) {
  std::vector<Change> changes;
  const FinetuneSettings& finetune = asked.scenario.finetune;
  if (finetune.method == Method::full) changes.push_back({"LoRA", with_method(asked, Method::lora)});
  if (finetune.method != Method::qlora) changes.push_back({"QLoRA", with_method(asked, Method::qlora)});
  if (finetune.optimizer == Optimizer::adamw && finetune.method == Method::full) {
    Change narrow{"8-bit AdamW", asked};
    narrow.question.scenario.finetune.optimizer = Optimizer::adamw_8bit;
    narrow.question.offload = Offload::none;
    changes.insert(changes.begin(), std::move(narrow));
  }
  // An adapter's optimizer is too small for its place to matter.
  const bool worth_moving = finetune.method == Method::full && finetune.optimizer == Optimizer::adamw;
  if (worth_moving && asked.offload == Offload::none) {
    Change offloaded{"optimizer offloaded to host memory", asked};
    offloaded.question.offload = Offload::cpu;
    if (asked.cards > 1) offloaded.question.scenario.parallel.strategy = Strategy::zero3;
    changes.push_back(std::move(offloaded));
  }
  return changes;
}

std::vector<Change> step_changes(const FitQuestion& asked) {
  std::vector<Change> changes;
  if (asked.basis == FitBasis::states) return changes;
  if (asked.scenario.finetune.activation_checkpointing != Checkpointing::full) {
    Change checkpointed{"full activation checkpointing", asked};
    checkpointed.question.scenario.finetune.activation_checkpointing = Checkpointing::full;
    changes.push_back(std::move(checkpointed));
  }
  if (asked.scenario.batch.micro_batch > 1) {
    Change smaller{"a micro-batch of 1", asked};
    smaller.question.scenario.batch.micro_batch = 1;
    changes.push_back(std::move(smaller));
  }
  return changes;
}

Alternative alternative_of(const std::string& change, const FitResult& result) {
  Alternative alternative{change, result.of_card.total(), std::nullopt, result.offloaded};
  if (result.step) alternative.peak = result.step->peak;
  return alternative;
}

/// The least number of cards above the question's own on which it fits, up to 64.
std::optional<Alternative> more_cards(const FitQuestion& asked) {
  constexpr std::int64_t most = 64;
  for (std::int64_t cards = 2; cards <= most; cards *= 2) {
    if (cards <= asked.cards) continue;
    const Result<FitResult> more = fit(on_cards(asked, cards));
    if (more && more->verdict != Verdict::no) return alternative_of(std::to_string(cards) + " cards", *more);
  }
  return std::nullopt;
}

bool is_slice(const FitQuestion& question) {
  return !question.scenario.mig.empty();
}

}  // namespace

Result<FitResult> fit(const FitQuestion& question) {
  if (const std::optional<Diagnostic> complaint = complaint_about_offload(question)) return *complaint;
  const KernelPricer pricer = step_pricer(question.scenario.assumptions, question.card);
  const Result<Workload> workload = build_workload(question.model, question.scenario, pricer);
  if (!workload) return workload.diagnostics();
  FitResult result;
  result.question = question;
  result.parameters = workload->parameters;
  result.trained = workload->trainable_parameters;
  result.whole = state_sizes(*workload);
  result.of_card = states_per_card(result.whole, question.scenario.parallel.strategy, question.cards);
  if (question.offload != Offload::none) {
    result.of_card = states_beside_offload(result.of_card);
    result.offloaded = offloaded_size(result.trained);
  }
  result.checkpoints = checkpoint_sizes(result.whole, result.trained);
  result.traffic = guide_traffic(result.whole, result.trained, question.cards);
  if (question.basis == FitBasis::step && states_fit(result)) play_step(result, *workload);
  result.verdict = verdict_of(result);
  return {std::move(result), workload.diagnostics()};
}

Result<FitResult> fit_with_alternatives(const FitQuestion& question) {
  Result<FitResult> result = fit(question);
  if (!result || result->verdict != Verdict::no) return result;
  std::vector<Change> changes = step_changes(question);
  for (Change& change : method_changes(question)) changes.push_back(std::move(change));
  for (const Change& change : changes) {
    const Result<FitResult> other = fit(change.question);
    if (other && other->verdict != Verdict::no) result->alternatives.push_back(alternative_of(change.name, *other));
  }
  if (is_slice(question)) return result;
  if (const std::optional<Alternative> more = more_cards(question)) result->alternatives.push_back(*more);
  return result;
}

FitQuestion on_cards(FitQuestion question, std::int64_t cards) {
  question.cards = cards;
  Strategy& strategy = question.scenario.parallel.strategy;
  if (cards == 1) strategy = Strategy::none;
  if (cards > 1 && strategy == Strategy::none) {
    strategy = question.offload == Offload::none ? Strategy::fsdp2 : Strategy::zero3;
  }
  return question;
}

}  // namespace takt
