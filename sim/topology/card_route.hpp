// How a card sends to another card: directly, through host memory, or through NICs.
#pragma once

#include "topology/parts.hpp"

namespace takt {

/// The farthest path type over which the cards of this server write to each other (semantics N11): what the file says;
/// where it says nothing PXB, but SYS on AMD servers with at most two cards.
PathType peer_to_peer_level(const ServerSpec& server);

/// The route of one card to another; `type` is disconnected and the route empty if there is none.
CardRoute plan_card_route(const Topology::Parts& parts, const CardInstance& from, const CardInstance& to);

/// The first card of the same server that `from` has no way to; null if it reaches all.
const CardInstance* first_unreached(const Topology::Parts& parts, const CardInstance& from);

/// plan_card_route by a prescribed way.
CardRoute plan_card_route(const Topology::Parts& parts, const CardInstance& from, const CardInstance& to,
                          const TransferWay& way);

}  // namespace takt
