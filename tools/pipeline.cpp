#include "pipeline.hpp"

#include "engine/measured_part.hpp"
#include "metrics/cost.hpp"
#include "metrics/energy.hpp"
#include "workload/gemm_model.hpp"

#include <utility>

namespace takt {
namespace {

/// Keeps what a step said; whether it has a value.
template <class T>
bool keep(const Result<T>& step, Diagnostics& said) {
  said.insert(said.end(), step.diagnostics().begin(), step.diagnostics().end());
  return step.has_value();
}

/// Bytes of what a run saves: 16-bit weights, or the adapter's alone.
Bytes checkpoint_size(const Scenario& scenario, const Workload& workload) {
  constexpr std::int64_t saved_bytes = 2;
  const bool whole_model = scenario.finetune.method == Method::full;
  return Bytes(saved_bytes * (whole_model ? workload.parameters : workload.trainable_parameters));
}

std::string link_provenance(LinkBasis basis) {
  return basis == LinkBasis::nominal ? "nominal capacities" : "measured capacities, nominal where there are none";
}

}  // namespace

Result<PreparedRun> prepare(Result<Scenario> scenario, SharedParts& parts) {
  Diagnostics said;
  if (!keep(scenario, said)) return said;

  auto model = parts.model(*scenario);
  auto topology = parts.topology(*scenario);
  const bool has_model = keep(model, said);
  if (!keep(topology, said) || !has_model) return said;

  Result<std::vector<CardInstance>> cards = choose_cards(*scenario, **topology);
  if (!keep(cards, said)) return said;
  const KernelPricer pricer = parts.pricer(*scenario, (*topology)->card_spec(cards->front()));

  auto workload = parts.workload(*scenario, **model, pricer);
  if (!keep(workload, said)) return said;
  Result<BuiltPlan> built = build_plan(*scenario, **workload, **topology, *cards, pricer);
  if (!keep(built, said)) return said;

  Diagnostics warnings = said;
  return {PreparedRun{std::move(*scenario), std::move(*model), std::move(*topology), std::move(*cards),
                      std::move(*workload), std::move(*built), std::move(warnings)},
          std::move(said)};
}

Result<PreparedRun> prepare(const SourceText& source, const Overrides& overrides, Library& library) {
  SharedParts parts(library);
  return prepare(read_scenario(source, overrides), parts);
}

Result<FinishedRun> finish_run(PreparedRun run, const RunOptions& options) {
  Result<Timeline> timeline = simulate(run.built.plan, run.topology->resources(),
                                       {.executor = options.executor, .record_rates = options.record_rates});
  Diagnostics said = run.warnings;
  if (!keep(timeline, said)) return said;
  std::optional<Plan> whole;
  if (begins_earlier(run.built.plan)) whole = run.built.plan;
  keep_measured_part(run.built.plan, *timeline);

  RunResult result;
  result.metrics = compute_metrics(run.scenario, *run.workload, run.built, *run.topology, run.cards, *timeline);
  result.cost = cost_of(run.scenario.cost, priced_machine(run.cards, *run.topology), result.metrics.tokens_per_second);
  result.power =
      power_of(run.scenario, run.built.plan, *run.topology, run.cards, *timeline, result.metrics.tokens_per_step);
  result.facts = run.built.facts;
  result.host_memory =
      host_memory(run.scenario, *run.workload, run.built.facts.shard_ranks, *run.topology, run.cards);
  result.topology_title = run.topology->title();
  result.model_name = run.model->name;
  const CardSpec& card = run.topology->card_spec(run.cards.front());
  result.card_name = card.name;
  result.card_architecture = card.architecture;
  const GemmCalibration* products = gemm_calibration(card, Precision::bf16);
  if (products != nullptr && !products->like.empty()) result.borrowed_products = products->interval;
  result.checkpoint_bytes = checkpoint_size(run.scenario, *run.workload);
  result.compute_provenance = run.workload->provenance;
  result.link_provenance = link_provenance(run.scenario.assumptions.links);
  result.diagnostics = said;
  result.scenario = std::move(run.scenario);
  return {FinishedRun{std::move(result), std::move(run.topology), std::move(run.workload), std::move(run.built),
                      std::move(*timeline), std::move(whole)},
          std::move(said)};
}

Result<FinishedRun> run(const SourceText& source, const Overrides& overrides, Library& library,
                        const RunOptions& options) {
  Result<PreparedRun> prepared = prepare(source, overrides, library);
  if (!prepared) return prepared.diagnostics();
  return finish_run(std::move(*prepared), options);
}

}  // namespace takt
