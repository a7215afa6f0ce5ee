// A written step on the cards of a topology: ranks, communicators, lowered collectives.
#pragma once

#include "base/result.hpp"
#include "plan/plan.hpp"
#include "plan/rank_group.hpp"
#include "plan/step.hpp"
#include "topology/topology.hpp"

#include <vector>

namespace takt {

/// Paths of copies between a rank's card and host memory, as Copy::path counts them.
inline constexpr std::uint32_t host_to_device_path = 0;
inline constexpr std::uint32_t device_to_host_path = 1;
/// Bytes that the rank's CPU reads and writes in host memory, and copies between it and the server's NVMe drives.
inline constexpr std::uint32_t cpu_memory_path = 2;
inline constexpr std::uint32_t nvme_read_path = 3;
inline constexpr std::uint32_t nvme_write_path = 4;

/// All cards run the one program. Equal calls over equal members are lowered once. Errors: a collective that NCCL, as
/// the scenario sets it, cannot run.
Result<Plan> bind(WrittenStep step, RankLayout layout, const Scenario& scenario, const Topology& topology,
                  const std::vector<CardInstance>& cards);

/// Bytes that rank 0 receives by collectives in the whole step.
Bytes received_per_rank(const Plan& plan);

}  // namespace takt
