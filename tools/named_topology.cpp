#include "named_topology.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace takt {
namespace {

/// The specs of the cards that `server` names.
Result<std::map<std::string, CardSpec>> cards_of(const ServerSpec& server, Library& library) {
  std::map<std::string, CardSpec> cards;
  Diagnostics said;
  std::set<std::string> asked;
  for (const DeviceSpec& device : server.devices) {
    if (device.kind != DeviceKind::card || !asked.insert(device.card).second) continue;
    const Result<CardSpec> card = library.card(device.card, device.place);
    said.insert(said.end(), card.diagnostics().begin(), card.diagnostics().end());
    if (card) cards.emplace(device.card, *card);
  }
  if (has_error(said)) return said;
  return {std::move(cards), std::move(said)};
}

Result<Topology> built(const ServerSpec& server, const ClusterSpec* cluster, LinkBasis basis, Library& library) {
  const Result<std::map<std::string, CardSpec>> cards = cards_of(server, library);
  if (!cards) return cards.diagnostics();
  return cluster == nullptr ? build_topology(server, *cards, basis) : build_topology(*cluster, server, *cards, basis);
}

}  // namespace

Result<Topology> named_topology(const std::string& name, const SourcePlace& asked_at, LinkBasis basis,
                                Library& library) {
  const Result<std::variant<ServerSpec, ClusterSpec>> spec = library.topology(name, asked_at);
  if (!spec) return spec.diagnostics();
  if (const auto* server = std::get_if<ServerSpec>(&*spec)) return built(*server, nullptr, basis, library);
  const auto& cluster = std::get<ClusterSpec>(*spec);
  const Result<ServerSpec> server = library.server(cluster.server, place_of(cluster.places, "server", cluster.file));
  if (!server) return server.diagnostics();
  return built(*server, &cluster, basis, library);
}

}  // namespace takt
