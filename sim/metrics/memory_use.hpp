// A rank's allocated memory over time and at its peak, from the effects of its ops.
#pragma once

#include "engine/timeline.hpp"
#include "metrics/step_metrics.hpp"
#include "plan/plan.hpp"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace takt {

inline constexpr std::size_t memory_categories = 9;

/// "weights", "gathered", ...
const char* name_of(MemoryCategory category);

/// What a rank has allocated from an instant on.
struct MemoryState {
  Duration when{};
  Bytes allocated{};
  std::array<Bytes, memory_categories> by_category{};
  OpId taker{};  ///< the op that was the last to take some
};

/// `when` ascends.
std::vector<MemoryState> memory_states(const Plan& plan, const Timeline& timeline, RankId rank);

struct MemoryPeak {
  Bytes allocated{};
  std::array<Bytes, memory_categories> by_category{};
  OpId op{};         ///< the op whose effect reached the peak
  bool any = false;  ///< the rank has memory effects at all
  Duration when{};
};

MemoryPeak memory_peak(const Plan& plan, const Timeline& timeline, RankId rank);

/// The most that a rank has allocated in forward, backward and optimizer (M11). A phase lasts from the start of its
/// first kernels to the start of the next phase's, and comes again with every micro-step; recomputation is backward.
struct PeakOfPhase {
  Phase phase = Phase::forward;
  MemoryState state;
};
std::vector<PeakOfPhase> peaks_of_phases(const Plan& plan, const Timeline& timeline, RankId rank);

/// Buffers of NCCL on a rank's card: one set for each communicator and algorithm that it uses (N70).
Bytes nccl_buffers(const Plan& plan, RankId rank);

/// Sizes by name, empty ones left out.
std::map<std::string, Bytes> by_name(const std::array<Bytes, memory_categories>& sizes);

/// "backward, unit 12": what an op is called in reports.
std::string describe(const Program& program, OpId op);

}  // namespace takt
