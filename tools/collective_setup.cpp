#include "collective_setup.hpp"

#include "named_topology.hpp"
#include "options.hpp"
#include "plan/strategy.hpp"

#include <utility>

namespace takt {
namespace {

/// A scenario whose model is never asked for.
SourceText scenario_without_model(const std::string& topology) {
  return {"command line",
          "[hardware]\ntopology = '" + topology + "'\n[model]\nname = \"none\"\n[parallel]\nstrategy = \"ddp\"\n"};
}

Diagnostics check_keys(const Overrides& settings) {
  Diagnostics problems;
  for (const Override& setting : settings) {
    const auto begins = [&](const char* section) { return setting.key.starts_with(section); };
    if (begins("nccl.") || begins("platform.") || begins("collectives.") || begins("assumptions.") ||
        setting.key == "hardware.cards")
      continue;
    problems.push_back(usage_error("'" + setting.key + "' changes no collective",
                                   "use keys of nccl, collectives, platform, assumptions, or hardware.cards"));
  }
  return problems;
}

}  // namespace

Result<CollectiveSetup> collective_setup(const std::string& topology, const Overrides& settings, Library& library) {
  if (Diagnostics problems = check_keys(settings); !problems.empty()) return problems;
  const Result<Scenario> scenario = read_scenario(scenario_without_model(topology), settings);
  if (!scenario) return scenario.diagnostics();
  SourcePlace asked_at;
  asked_at.file = "command line";
  Result<Topology> machine = named_topology(
      topology, asked_at, {scenario->assumptions.links, {scenario->platform, scenario->places}}, library);
  if (!machine) return machine.diagnostics();
  const Result<std::vector<CardInstance>> cards = choose_cards(*scenario, *machine);
  if (!cards) return cards.diagnostics();
  Result<CollectiveOptions> options = collective_options(*scenario);
  if (!options) return options.diagnostics();
  std::vector<VertexId> members;
  for (const CardInstance& card : *cards) members.push_back(card.vertex);
  return CollectiveSetup{*std::move(machine), std::move(members), *std::move(options)};
}

}  // namespace takt
