#include "calibration/copy_routes.hpp"

#include <cstddef>
#include <optional>
#include <utility>

namespace takt {

Result<Topology> topology_of_copies(ServerSpec server, std::map<std::string, CardSpec> cards, PeerCopies peers) {
  server.peer_to_peer.enabled = peers == PeerCopies::direct;
  server.peer_to_peer.level = "SYS";
  for (auto& [id, card] : cards) card.pcie_peer_to_peer = true;
  return build_topology(server, cards, LinkBasis::measured);
}

std::vector<LinkId> links_of(const Topology& topology, const Transfer& transfer) {
  const auto vertex = [&](std::int64_t card) { return topology.cards()[static_cast<std::size_t>(card)].vertex; };
  std::optional<Route> route;
  if (transfer.from == Transfer::host)
    route = topology.from_host_memory(vertex(transfer.to));
  else if (transfer.to == Transfer::host)
    route = topology.to_host_memory(vertex(transfer.from));
  else
    route = topology.card_route(vertex(transfer.from), vertex(transfer.to)).route;
  return route ? route->links : std::vector<LinkId>();
}

}  // namespace takt
