#include "measured_state.hpp"

namespace takt {

Result<Topology> topology_in_state(ServerSpec server, PeerState state, Library& library) {
  server.peer_to_peer.enabled = state != PeerState::off;
  server.peer_to_peer.level = "SYS";
  server.peer_to_peer.acs = state == PeerState::acs;
  server.places["peer_to_peer.level"].file = "command line";
  std::map<std::string, CardSpec> cards;
  for (const DeviceSpec& device : server.devices) {
    if (device.kind != DeviceKind::card || cards.count(device.card) > 0) continue;
    const Result<CardSpec> card = library.card(device.card, device.place);
    if (!card) return card.diagnostics();
    cards.emplace(device.card, *card).first->second.pcie_peer_to_peer = true;
  }
  return build_topology(server, cards, LinkBasis::measured);
}

}  // namespace takt
