#include "shared_parts.hpp"

#include "config/scenario_keys.hpp"
#include "named_topology.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace takt {
namespace {

/// Most parts of a kind that are kept: sweeps over a million points may need more than memory holds.
constexpr std::size_t most_kept = 512;

/// Keys that no workload depends on, beside what they say of the card, which is named by its own file. A key that is
/// not listed counts as one that workloads depend on.
constexpr std::array<std::string_view, 8> foreign_to_workload = {
    "title",           "hardware.topology",           "hardware.cards",   "hardware.cluster", "hardware.link",
    "hardware.server", "batch.gradient_accumulation", "assumptions.links"};
constexpr std::array<std::string_view, 4> sections_foreign_to_workload = {"parallel.", "collectives.", "cost.", "platform."};
constexpr std::array<std::string_view, 7> assumptions_foreign_to_workload = {
    "overlap",       "sm_contention",    "sm_slowdown", "memory_contention", "hbm_traffic_factor",
    "kernel_launch", "collective_launch"};

bool matters_to_workload(std::string_view key) {
  const auto is = [key](std::string_view other) { return key == other; };
  if (std::any_of(foreign_to_workload.begin(), foreign_to_workload.end(), is)) return false;
  if (std::any_of(sections_foreign_to_workload.begin(), sections_foreign_to_workload.end(),
                  [key](std::string_view section) { return key.starts_with(section); })) {
    return false;
  }
  constexpr std::string_view assumptions = "assumptions.";
  if (!key.starts_with(assumptions)) return true;
  const std::string_view name = key.substr(assumptions.size());
  return std::find(assumptions_foreign_to_workload.begin(), assumptions_foreign_to_workload.end(), name) ==
         assumptions_foreign_to_workload.end();
}

/// Everything of a scenario that its workload is made of, the file that names it included: a model may be a path that
/// is looked up beside it.
std::string workload_name(const Scenario& scenario, const CardSpec& card) {
  std::string name = scenario.file + '\n' + card.file;
  for (const auto& [key, value] : scenario_keys().write(scenario)) {
    if (!matters_to_workload(key)) continue;
    name += '\n';
    name += value;
  }
  return name;
}

/// Everything of a scenario that its topology is made of: the machine's keys, and the two assumptions about it.
std::string topology_name(const Scenario& scenario, const SourcePlace& named_at) {
  std::string name = named_at.file;
  for (const auto& [key, value] : scenario_keys().write(scenario)) {
    const bool matters = (key.starts_with("hardware.") && key != "hardware.cards") || key.starts_with("platform.") ||
                         key == "assumptions.links" || key == "assumptions.compute";
    if (matters) name += '\n' + value;
  }
  return name;
}

}  // namespace

template <class Part, class Make>
Result<std::shared_ptr<const Part>> SharedParts::get(Kept<Part>& kept, const std::string& name, Make make) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = kept.find(name);
    if (found != kept.end()) return found->second;
  }
  Result<Part> made = make();
  if (!made) return made.diagnostics();
  Diagnostics warnings = made.diagnostics();
  Result<std::shared_ptr<const Part>> part = {std::make_shared<const Part>(std::move(*made)), std::move(warnings)};
  const std::lock_guard lock(mutex_);
  if (kept.size() >= most_kept) kept.clear();
  return kept.emplace(name, std::move(part)).first->second;
}

Result<std::shared_ptr<const ModelSpec>> SharedParts::model(const Scenario& scenario) {
  const SourcePlace place = place_of(scenario.places, "model.name", scenario.file);
  return get(models_, place.file + '\n' + scenario.model, [&] { return library_.model(scenario.model, place); });
}

Result<std::shared_ptr<const Topology>> SharedParts::topology(const Scenario& scenario) {
  const SourcePlace place = place_of(scenario.places, "hardware.topology", scenario.file);
  const MachineState state{scenario.assumptions.links,
                           {scenario.platform, scenario.places},
                           scenario.assumptions.compute,
                           {scenario.mig, place_of(scenario.places, "hardware.mig", scenario.file), scenario.power_limit,
                            place_of(scenario.places, "hardware.power_limit", scenario.file)},
                           scenario.hardware_changes};
  return get(topologies_, topology_name(scenario, place),
             [&] { return named_topology(scenario.topology, place, state, library_); });
}

KernelPricer SharedParts::pricer(const Scenario& scenario, const CardSpec& card) const {
  return step_pricer(scenario.assumptions, card, constants_);
}

Result<std::shared_ptr<const Workload>> SharedParts::workload(const Scenario& scenario, const ModelSpec& model,
                                                              const KernelPricer& pricer) {
  return get(workloads_, workload_name(scenario, pricer.card()),
             [&] { return build_workload(model, scenario, pricer); });
}

}  // namespace takt
