// What offloaded states take of a server's memory.
#pragma once

#include "config/scenario.hpp"
#include "topology/topology.hpp"
#include "workload/workload.hpp"

#include <cstdint>
#include <vector>

namespace takt {

struct HostMemory {
  Bytes needed{};     ///< of the server with most ranks; 0 if nothing is offloaded
  Bytes available{};  ///< of its sockets; 0 if the server's file does not say
  Bytes nvme{};       ///< of its drives

  bool fits() const { return available == Bytes{} || needed <= available; }
};

/// Offloaded parts of `shard_ranks` ranks (semantics F60, S18, Z14): FP32 master, moments and gradients, and parameters in
/// the format in which they wait. With NVMe, states lie there and gradients in memory.
HostMemory host_memory(const Scenario& scenario, const Workload& workload, std::int64_t shard_ranks,
                       const Topology& topology, const std::vector<CardInstance>& cards);

}  // namespace takt
