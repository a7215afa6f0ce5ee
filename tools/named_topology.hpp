// A server or cluster by name: its file, the cards it holds, and the graph of all of it.
#pragma once

#include "config/library.hpp"
#include "topology/topology.hpp"

namespace takt {

/// Errors of any of the files, or of the graph. `asked_at` is where the user named the topology.
Result<Topology> named_topology(const std::string& name, const SourcePlace& asked_at, LinkBasis basis,
                                Library& library);

}  // namespace takt
