// Everything that the engine plays: programs, the ranks that run them, communicators, and priced collectives.
//
// A Plan refers to resources and ranks by id only; it knows neither language models nor servers.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "collective/lowered.hpp"
#include "collective/activity.hpp"
#include "plan/program.hpp"

namespace takt {

/// A fixed path for copies of one rank: host to device, device to host.
struct CopyPath {
  std::string name;
  std::vector<Demand> demands;
  Duration latency{};
  double cap = std::numeric_limits<double>::infinity();  ///< bytes/s
  double weight = 1.0;                                   ///< in sharing with other flows
};

struct RankBinding {
  RoleId role{};
  std::string name;                              ///< "rank 3 (gpu3)"
  ResourceId memory{};                           ///< the card's memory bandwidth
  std::int64_t sm_count = 1;
  std::int64_t copy_engines = 1;
  std::vector<CommunicatorId> communicators;     ///< index with CommSlot
  std::vector<CopyPath> paths;                   ///< index with Copy::path
  double speed = 1.0;                            ///< kernels run at this fraction (stragglers, jitter); positive
};

struct Communicator {
  std::string name;                              ///< "shard of server 0"
  CommSlot slot{};                               ///< how its members' program calls it
  std::vector<RankId> members;                   ///< ascending
  std::vector<CollectiveId> lowered;             ///< of each call of the slot
};

/// How much kernels that are bound by SMs slow down while collectives hold k of N: speed (N - k) / (N q). DESIGN
/// section 2; kernels that wait for memory keep their speed (Segment::memory_time).
struct SmContention {
  bool enabled = true;
  double q = 1.0;
  std::int64_t free_ctas = 0;                    ///< q applies above this many CTAs; at or below, q is 1
};

struct Plan {
  std::vector<Program> programs;                 ///< index with RoleId
  std::vector<RankBinding> ranks;                ///< index with RankId
  std::vector<Communicator> communicators;       ///< index with CommunicatorId
  std::vector<LoweredCollective> collectives;    ///< index with CollectiveId
  SmContention sm_contention;
};

}  // namespace takt
