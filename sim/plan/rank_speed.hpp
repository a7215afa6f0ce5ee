// How fast each rank's kernels run: stragglers and jitter of the scenario.
#pragma once

#include "config/scenario.hpp"

#include <cstdint>

namespace takt {

/// A number in [0, 1) that depends on `seed` and `rank` alone, the same for every compiler and machine.
double random_share(std::uint64_t seed, std::uint64_t rank);

/// The fraction of their speed at which the rank's kernels run: 1 over its straggler's factor, times one plus a random
/// part of the jitter.
double rank_speed(const Assumptions& assumptions, std::int64_t rank);

}  // namespace takt
