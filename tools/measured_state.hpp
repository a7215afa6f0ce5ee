// A machine in the state in which something was measured on it.
#pragma once

#include "config/library.hpp"
#include "report/link_validation.hpp"
#include "topology/topology.hpp"

namespace takt {

/// CUDA copies directly whatever the path is, so peer-to-peer that is on reaches across sockets, and a driver that was
/// patched for it makes every card a peer; off means staged through host memory. Errors: of the cards' files.
Result<Topology> topology_in_state(ServerSpec server, PeerState state, Library& library);

}  // namespace takt
