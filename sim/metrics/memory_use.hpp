// A rank's allocated memory over time and at its peak, from the effects of its ops.
#pragma once

#include "engine/timeline.hpp"
#include "metrics/step_metrics.hpp"
#include "plan/plan.hpp"

#include <array>
#include <string>

namespace takt {

inline constexpr std::size_t memory_categories = 9;

/// "weights", "gathered", ...
const char* name_of(MemoryCategory category);

struct MemoryPeak {
  Bytes allocated{};
  std::array<Bytes, memory_categories> by_category{};
  OpId op{};         ///< the op whose effect reached the peak
  bool any = false;  ///< the rank has memory effects at all
};

MemoryPeak memory_peak(const Plan& plan, const Timeline& timeline, RankId rank);

/// "backward, unit 12": what an op is called in reports.
std::string describe(const Program& program, OpId op);

}  // namespace takt
