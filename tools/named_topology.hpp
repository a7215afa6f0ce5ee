// A server or cluster by name: its file, the cards it holds, and the graph of all of it.
#pragma once

#include "config/card_state.hpp"
#include "config/library.hpp"
#include "config/platform_settings.hpp"
#include "topology/topology.hpp"

namespace takt {

/// How the machine is taken: which capacities count, and what differs from its server file.
struct MachineState {
  LinkBasis basis = LinkBasis::measured;
  PlatformState platform = {};
  ComputeBasis compute = ComputeBasis::measured;  ///< other than measured: cards reach all of their memory bandwidth
  CardState cards = {};
};

/// Errors of any of the files, of the platform's settings, or of the graph. `asked_at` is where the user named the
/// topology.
Result<Topology> named_topology(const std::string& name, const SourcePlace& asked_at, const MachineState& state,
                                Library& library);

}  // namespace takt
