// A machine for questions that do not depend on links: equal cards on one socket.
#pragma once

#include "base/result.hpp"
#include "metrics/step_metrics.hpp"

#include <cstdint>

namespace takt {

/// `cards` equal cards, each in a slot of its own at the nominal rate, writing to each other directly.
Result<Topology> plain_machine(const CardSpec& card, std::int64_t cards);

/// Memory of the fullest rank over a step of `scenario` on a plain machine. Errors: of the plan (a strategy that cannot
/// be played yet).
Result<MemoryMetrics> step_memory(const Scenario& scenario, const Workload& workload, const CardSpec& card,
                                  std::int64_t cards);

}  // namespace takt
