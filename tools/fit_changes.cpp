#include "fit_changes.hpp"

#include "config/reader.hpp"
#include "config/scenario_keys.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <utility>

namespace takt {
namespace {

struct Change {
  std::string what;
  Overrides keys;
};

bool has_key(const Scenario& scenario, const std::string& wanted) {
  const auto written = scenario_keys().write(scenario);
  return std::any_of(written.begin(), written.end(), [&](const auto& row) { return row.first == wanted; });
}

std::string list_of_cards(std::size_t count) {
  std::string list;
  for (std::size_t card = 0; card < count; ++card) list += fmt::format("{}{}", card == 0 ? "" : ", ", card);
  return '[' + list + ']';
}

bool is_fsdp(Strategy strategy) {
  return strategy == Strategy::fsdp1 || strategy == Strategy::fsdp2;
}

bool shards_everything(const ParallelSettings& parallel) {
  if (parallel.strategy == Strategy::zero3) return true;
  const bool stays_gathered = parallel.strategy == Strategy::fsdp2 && !parallel.reshard_after_forward;
  return is_fsdp(parallel.strategy) && parallel.sharding == Sharding::full && !stays_gathered;
}

void add_methods(std::vector<Change>& changes, const Scenario& scenario) {
  const FinetuneSettings& finetune = scenario.finetune;
  if (finetune.activation_checkpointing != Checkpointing::full || finetune.checkpoint_every > 1) {
    changes.push_back(
        {"full checkpointing", {{"finetune.activation_checkpointing", "full"}, {"finetune.checkpoint_every", "1"}}});
  }
  if (finetune.optimizer == Optimizer::adamw) {
    changes.push_back({"8-bit optimizer", {{"finetune.optimizer", "adamw-8bit"}}});
  }
  if (finetune.cross_entropy != CrossEntropy::fused_linear) {
    changes.push_back({"loss fused with the head", {{"finetune.cross_entropy", "fused-linear"}}});
  }
  const BatchSettings& batch = scenario.batch;
  if (batch.micro_batch > 1) {
    changes.push_back(
        {"micro-batch 1, as many tokens a step",
         {{"batch.micro_batch", "1"},
          {"batch.gradient_accumulation", std::to_string(batch.micro_batch * batch.gradient_accumulation)}}});
  }
}

/// Sharding over the cards that the run has, and over all of its machine.
void add_machines(std::vector<Change>& changes, const Scenario& scenario, std::size_t ranks, std::size_t cards) {
  const bool zero = scenario.parallel.strategy == Strategy::zero1 || scenario.parallel.strategy == Strategy::zero2;
  Overrides sharded = {{"parallel.strategy", zero ? "zero3" : "fsdp2"}};
  std::string name = zero ? "ZeRO-3" : "FSDP2";
  if (is_fsdp(scenario.parallel.strategy)) {
    sharded = {{"parallel.sharding", "full"}};
    if (scenario.parallel.strategy == Strategy::fsdp2) sharded.push_back({"parallel.reshard_after_forward", "true"});
    name = "full sharding";
  }
  const bool whole = shards_everything(scenario.parallel);
  if (!whole && ranks > 1) changes.push_back({fmt::format("{} over its {} cards", name, ranks), sharded});
  if (cards <= ranks || !scenario.mig.empty()) return;
  Overrides all = whole ? Overrides{} : std::move(sharded);
  all.push_back({"hardware.cards", list_of_cards(cards)});
  changes.push_back({whole ? fmt::format("all {} cards of the machine", cards)
                           : fmt::format("{} over all {} cards of the machine", name, cards),
                     std::move(all)});
}

/// Where the scenario's strategy allows it; else the run says no.
void add_offload(std::vector<Change>& changes, const Scenario& scenario) {
  if (has_key(scenario, "parallel.offload_optimizer")) {
    changes.push_back({"optimizer in host memory", {{"parallel.offload_optimizer", "cpu"}}});
  }
  if (has_key(scenario, "parallel.offload_params")) {
    changes.push_back({"parameters in host memory", {{"parallel.offload_params", "cpu"}}});
  }
}

bool changes_something(const Scenario& before, const Scenario& after) {
  return before.hash != after.hash;
}

}  // namespace

std::vector<FitChange> try_fit_changes(const FinishedRun& run, const SourceText& source, const Overrides& overrides,
                                       Library& library, Executor* executor) {
  const Scenario& scenario = run.result.scenario;
  std::vector<Change> changes;
  add_methods(changes, scenario);
  add_machines(changes, scenario, run.built.plan.ranks.size(), run.topology->cards().size());
  add_offload(changes, scenario);
  SharedParts parts(library);
  std::vector<FitChange> tried;
  for (Change& change : changes) {
    Overrides all = overrides;
    all.insert(all.end(), change.keys.begin(), change.keys.end());
    Result<PreparedRun> prepared = prepare(read_scenario(source, all), parts);
    if (!prepared || !changes_something(scenario, prepared->scenario)) continue;
    const Result<FinishedRun> finished = finish_run(*std::move(prepared), {.executor = executor});
    if (!finished) continue;
    const StepMetrics& metrics = finished->result.metrics;
    FitChange outcome{std::move(change.what),   {}, metrics.memory.peak, metrics.memory.capacity, metrics.memory.fits,
                      metrics.tokens_per_second};
    for (Override& key : change.keys) outcome.keys.emplace_back(std::move(key.key), std::move(key.value));
    tried.push_back(std::move(outcome));
  }
  std::stable_sort(tried.begin(), tried.end(),
                   [](const FitChange& a, const FitChange& b) { return a.part_of_card() < b.part_of_card(); });
  return tried;
}

}  // namespace takt
