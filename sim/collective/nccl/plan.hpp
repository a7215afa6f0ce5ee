// What NCCL chooses for a communicator and for each of its calls: the entry to this folder.
#pragma once

#include "base/result.hpp"
#include "collective/call.hpp"
#include "collective/nccl/communicator.hpp"
#include "collective/nccl/settings.hpp"
#include "collective/nccl/system.hpp"
#include "collective/nccl/tuner.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace takt {

/// A communicator with all that NCCL finds out when it is set up.
struct NcclPlan {
  NcclSettings settings;
  nccl::Communicator communicator;
  nccl::TunerTable table;
};

/// How one call runs.
struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  std::int64_t channels = 0;     ///< the most CTAs NCCL gives the call (N49)
  std::int64_t ctas = 0;         ///< CTAs that get data when each has at least 32 KiB of traffic (N49)
  std::int64_t threads = 0;      ///< of a CTA
  double planned_time_us = 0.0;  ///< NCCL's own estimate; a reason for the choice, not a prediction
};

/// The plan of a communicator over `servers` (those of its cards that take part, ranks 0 to n-1).
/// Errors: no CPU or card in a server, ranks that are not 0 to n-1, servers without a NIC port when there are several,
/// settings that leave no algorithm.
Result<NcclPlan> plan_nccl(std::span<const NcclSystem> servers, const NcclSettings& settings,
                           const NcclGraphFile* graph_file = nullptr);

/// NCCL's choice. With `preferred`, the best of those algorithms if the call can use one of them: as if the rest did
/// not exist.
NcclChoice choose(const NcclPlan& plan, const CollectiveCall& call, std::span<const NcclAlgorithm> preferred = {});

/// Planned time of one algorithm and protocol; negative if it is not available for the call.
double planned_time_us(const NcclPlan& plan, const CollectiveCall& call, NcclAlgorithm algorithm,
                       NcclProtocol protocol);

/// "8 ranks on 1 node; ring 2 channels x 11 GB/s over SYS; tree 2 x 20; 4 CTAs".
std::string explain(const NcclPlan& plan);
/// "Ring, Simple, 4 CTAs of 544 threads; NCCL plans 1195.3 us; next best Tree, Simple: 1500.0 us".
std::string explain(const NcclPlan& plan, const CollectiveCall& call);

}  // namespace takt
