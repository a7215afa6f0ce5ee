#include "pipeline.hpp"

#include "engine/measured_part.hpp"
#include "named_topology.hpp"

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

Result<PreparedRun> prepare(const SourceText& source, const Overrides& overrides, Library& library) {
  Diagnostics said;
  Result<Scenario> scenario = read_scenario(source, overrides);
  if (!keep(scenario, said)) return said;
  const auto place = [&](const char* key) { return place_of(scenario->places, key, scenario->file); };

  Result<ModelSpec> model = library.model(scenario->model, place("model.name"));
  const MachineState machine{
      scenario->assumptions.links,
      {scenario->platform, scenario->places},
      scenario->assumptions.compute,
      {scenario->mig, place("hardware.mig"), scenario->power_limit, place("hardware.power_limit")}};
  Result<Topology> topology = named_topology(scenario->topology, place("hardware.topology"), machine, library);
  const bool has_model = keep(model, said);
  if (!keep(topology, said) || !has_model) return said;

  Result<std::vector<CardInstance>> cards = choose_cards(*scenario, *topology);
  if (!keep(cards, said)) return said;
  const KernelPricer pricer(topology->card_spec(cards->front()), scenario->assumptions.compute);

  Result<Workload> workload = build_workload(*model, *scenario, pricer);
  if (!keep(workload, said)) return said;
  Result<BuiltPlan> built = build_plan(*scenario, *workload, *topology, *cards, pricer);
  if (!keep(built, said)) return said;

  Diagnostics warnings = said;
  return {PreparedRun{std::move(*scenario), std::move(*model), std::move(*topology), std::move(*cards),
                      std::move(*workload), std::move(*built), std::move(warnings)},
          std::move(said)};
}

Result<FinishedRun> run(const SourceText& source, const Overrides& overrides, Library& library,
                        const RunOptions& options) {
  Result<PreparedRun> prepared = prepare(source, overrides, library);
  if (!prepared) return prepared.diagnostics();
  PreparedRun& run = *prepared;

  Result<Timeline> timeline = simulate(run.built.plan, run.topology.resources(),
                                       {.executor = options.executor, .record_rates = options.record_rates});
  Diagnostics said = run.warnings;
  if (!keep(timeline, said)) return said;
  std::optional<Plan> whole;
  if (begins_earlier(run.built.plan)) whole = run.built.plan;
  keep_measured_part(run.built.plan, *timeline);

  RunResult result;
  result.metrics = compute_metrics(run.scenario, run.workload, run.built, run.topology, run.cards, *timeline);
  result.facts = run.built.facts;
  result.topology_title = run.topology.title();
  result.model_name = run.model.name;
  result.card_name = run.topology.card_spec(run.cards.front()).name;
  result.checkpoint_bytes = checkpoint_size(run.scenario, run.workload);
  result.compute_provenance = run.workload.provenance;
  result.link_provenance = link_provenance(run.scenario.assumptions.links);
  result.diagnostics = said;
  result.scenario = std::move(run.scenario);
  return {FinishedRun{std::move(result), std::move(run.topology), std::move(run.workload), std::move(run.built),
                      std::move(*timeline), std::move(whole)},
          std::move(said)};
}

}  // namespace takt
