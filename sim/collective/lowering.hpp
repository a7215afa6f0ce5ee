// From a collective call to activities on resources.
//
// NCCL's own plan decides algorithm, protocol and CTAs; the runtime model times them on the real links. A ring channel
// is ONE activity: its edges are pipelined and move at one common rate x (bytes/s per edge). It demands from a link
// direction as often as edges of the ring cross it. Channels in the same ring order are merged into one activity. Trees
// likewise, one activity a pass; all that NVSwitches reduce is one activity. See DESIGN section 2.
//
// Alone, a lowered collective takes what the runtime model says (solo.hpp): fixed time, then its work at the lesser of
// its cap and of what the capacities of the links allow.
#pragma once

#include "base/result.hpp"
#include "collective/call.hpp"
#include "collective/lowered.hpp"
#include "collective/nccl/graph_file.hpp"
#include "config/scenario.hpp"
#include "topology/topology.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace takt {

struct CollectiveShape;  // solo.hpp

struct CollectiveOptions {
  CollectiveSettings settings;
  NcclEnvironment nccl;
  std::shared_ptr<const NcclGraphFile> graph_file;  ///< of nccl.graph_file; empty: NCCL searches
  bool nccl_limits = true;                          ///< the runtime model; false: links alone bound a collective
  bool memory_contention = true;
  double hbm_traffic_factor = 2.0;
};

/// The options of a scenario. Errors: an NCCL graph file that cannot be read.
Result<CollectiveOptions> collective_options(const Scenario& scenario);

/// How a call runs, for those who ask.
struct CollectiveAccount {
  std::string algorithm;  ///< "Ring", "Tree", "NVLS", ...; "hierarchical"
  std::string protocol;   ///< "LL", "LL128", "Simple"; empty where NCCL chose none
  std::int64_t ctas = 0;
  std::int64_t channels = 0;         ///< of the communicator
  std::string plan;                  ///< what NCCL's search found, in words; empty where NCCL does not run
  std::optional<double> planned_us;  ///< NCCL's own estimate
  double time_us = 0.0;              ///< alone
  std::string limit;                 ///< what binds, alone
  std::string way;                   ///< what it crosses: "NVSwitches", "host memory", ...
};

struct PricedCollective {
  LoweredCollective lowered;
  CollectiveAccount account;
};

/// Lowers the calls of a run. Keeps what communicators of equal members share.
class CollectiveLowering {
 public:
  CollectiveLowering(const Topology& topology, CollectiveOptions options);
  ~CollectiveLowering();
  CollectiveLowering(const CollectiveLowering&) = delete;
  CollectiveLowering& operator=(const CollectiveLowering&) = delete;

  /// `members` are card vertices in rank order. One member, or nothing to move: no activities, no time. Errors:
  /// settings that leave NCCL no algorithm, servers that no NIC joins, an algorithm that these cards cannot run.
  Result<PricedCollective> price(const CollectiveCall& call, std::span<const VertexId> members);

  /// What NCCL chose, as lanes on links: for solo_time() with other constants. Needs two members and bytes to move; the
  /// hierarchical form has no one shape and gives NCCL's.
  Result<CollectiveShape> shape(const CollectiveCall& call, std::span<const VertexId> members);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The same for one call.
Result<LoweredCollective> lower_collective(const CollectiveCall& call, std::span<const VertexId> members,
                                           const Topology& topology, const CollectiveOptions& options);

}  // namespace takt
