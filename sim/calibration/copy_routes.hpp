// A server as CUDA's copies see it, and which links they cross there.
#pragma once

#include "base/result.hpp"
#include "config/card_spec.hpp"
#include "config/hardware_spec.hpp"
#include "metrics/copy_rates.hpp"
#include "topology/topology.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace takt {

enum class PeerCopies : std::uint8_t {
  direct,  ///< over any path
  staged   ///< through host memory
};

/// Errors: a server that cannot be built.
Result<Topology> topology_of_copies(ServerSpec server, std::map<std::string, CardSpec> cards, PeerCopies peers);

/// The links of a transfer between cards of `topology`, in its direction; none if it has no route.
std::vector<LinkId> links_of(const Topology& topology, const Transfer& transfer);

}  // namespace takt
