// How much kernels slow down while collectives hold SMs: what the scenario says of it.
#pragma once

#include "config/scenario.hpp"
#include "plan/plan.hpp"

namespace takt {

/// CTAs up to which GEMMs slow down by no more than the SMs they lose. Under 8 resident CTAs cuBLAS kept 0.97 of the
/// share of SMs left, under 16 and more 0.58 to 0.92 (H200 NVL interference study, validation/overlap).
inline constexpr std::int64_t ctas_without_slowdown = 8;

inline SmContention sm_contention(const Assumptions& assumptions) {
  return {assumptions.sm_contention, assumptions.sm_slowdown, ctas_without_slowdown};
}

}  // namespace takt
