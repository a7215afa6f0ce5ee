#include "metrics/sizing/plain_machine.hpp"

#include "engine/simulate.hpp"
#include "metrics/sizing/server_needs.hpp"

namespace takt {
namespace {

const SourcePlace place{"command line", 0, 0, ""};

DeviceSpec device(const std::string& name, DeviceKind kind) {
  DeviceSpec spec;
  spec.name = name;
  spec.kind = kind;
  spec.place = place;
  return spec;
}

LinkSpec link(const std::string& from, const std::string& to, LinkKind kind, Bandwidth rate) {
  LinkSpec spec{from, to, {}, false, place};
  spec.type.kind = kind;
  spec.type.nominal = rate;
  spec.type.effective = rate;
  return spec;
}

}  // namespace

Result<Topology> plain_machine(const CardSpec& card, std::int64_t cards) {
  const std::string socket = "cpu0", memory = "cpu0 memory";
  const Bandwidth slot = nominal_pcie(card);
  ServerSpec server;
  server.id = "plain";
  server.title = "equal cards on one socket";
  server.file = place.file;
  server.peer_to_peer.level = "SYS";
  server.devices = {device(socket, DeviceKind::socket), device(memory, DeviceKind::host_memory)};
  server.links = {link(socket, memory, LinkKind::memory, slot * static_cast<double>(cards))};
  for (std::int64_t i = 0; i < cards; ++i) {
    server.devices.push_back(device("gpu" + std::to_string(i), DeviceKind::card));
    server.devices.back().card = card.id;
    server.links.push_back(link(socket, server.devices.back().name, LinkKind::pcie, slot));
    server.links.back().type.generation = card.pcie_generation;
    server.links.back().type.lanes = card.pcie_lanes;
  }
  return build_topology(server, {{card.id, card}}, LinkBasis::nominal);
}

Result<MemoryMetrics> step_memory(const Scenario& scenario, const Workload& workload, const CardSpec& card,
                                  std::int64_t cards) {
  const Result<Topology> machine = plain_machine(card, cards);
  if (!machine) return machine.diagnostics();
  const KernelPricer pricer = step_pricer(scenario.assumptions, card);
  const Result<BuiltPlan> built = build_plan(scenario, workload, *machine, machine->cards(), pricer);
  if (!built) return built.diagnostics();
  const Result<Timeline> timeline = simulate(built->plan, machine->resources(), {});
  if (!timeline) return timeline.diagnostics();
  return compute_metrics(scenario, workload, *built, *machine, machine->cards(), *timeline).memory;
}

}  // namespace takt
