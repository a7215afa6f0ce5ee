// A machine with NCCL's settings on it, without a model: what `takt collective` and `takt validate --collectives` run.
#pragma once

#include "collective/lowering.hpp"
#include "config/library.hpp"
#include "topology/topology.hpp"

#include <string>
#include <vector>

namespace takt {

struct CollectiveSetup {
  Topology topology;
  std::vector<VertexId> members;  ///< in rank order
  CollectiveOptions options;
};

/// The keys of `settings` are those of a scenario: nccl.*, collectives.*, platform.*, assumptions.* and hardware.cards. Errors:
/// other keys, a topology that is not found or wrong, cards that do not exist.
Result<CollectiveSetup> collective_setup(const std::string& topology, const Overrides& settings, Library& library);

}  // namespace takt
