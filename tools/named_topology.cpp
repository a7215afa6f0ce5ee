#include "named_topology.hpp"

#include "topology/platform_state.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace takt {
namespace {

/// The specs of the cards that `server` names, in their state.
Result<std::map<std::string, CardSpec>> cards_of(const ServerSpec& server, const MachineState& state, Library& library) {
  std::map<std::string, CardSpec> cards;
  Diagnostics said;
  std::set<std::string> asked;
  for (const DeviceSpec& device : server.devices) {
    if (device.kind != DeviceKind::card || !asked.insert(device.card).second) continue;
    const Result<CardSpec> file = library.card(device.card, device.place);
    const Result<CardSpec> card = file ? card_in_state(*file, state.cards) : file;
    said.insert(said.end(), card.diagnostics().begin(), card.diagnostics().end());
    if (!card) continue;
    CardSpec& spec = cards.emplace(device.card, *card).first->second;
    if (state.compute != ComputeBasis::measured) spec.efficiency.memory = 1.0;
  }
  if (has_error(said)) return said;
  return {std::move(cards), std::move(said)};
}

/// A whole topology, from the server in its state.
Result<Topology> built(const ServerSpec& as_filed, const ClusterSpec* cluster, const MachineState& state,
                       Library& library) {
  const Result<std::map<std::string, CardSpec>> cards = cards_of(as_filed, state, library);
  if (!cards) return cards.diagnostics();
  const auto link_types = library.link_types();
  if (!link_types) return link_types.diagnostics();
  const Result<ServerSpec> server = in_platform_state(as_filed, state.platform, {*cards, *link_types});
  if (!server) return server.diagnostics();
  Result<Topology> topology = cluster == nullptr ? build_topology(*server, *cards, state.basis)
                                                 : build_topology(*cluster, *server, *cards, state.basis);
  Diagnostics said = server.diagnostics();
  said.insert(said.end(), topology.diagnostics().begin(), topology.diagnostics().end());
  if (!topology) return said;
  return {*std::move(topology), std::move(said)};
}

}  // namespace

Result<Topology> named_topology(const std::string& name, const SourcePlace& asked_at, const MachineState& state,
                                Library& library) {
  const Result<std::variant<ServerSpec, ClusterSpec>> spec = library.topology(name, asked_at);
  if (!spec) return spec.diagnostics();
  if (const auto* server = std::get_if<ServerSpec>(&*spec)) return built(*server, nullptr, state, library);
  auto cluster = std::get<ClusterSpec>(*spec);
  const Result<ServerSpec> server = library.server(cluster.server, place_of(cluster.places, "server", cluster.file));
  if (!server) return server.diagnostics();
  cluster.nic_speed = state.platform.settings.nic.speed.value_or(cluster.nic_speed);
  return built(*server, &cluster, state, library);
}

}  // namespace takt
