// Bandwidths as NCCL's search counts them.
//
// NCCL rounds a link's remaining bandwidth to a thousandth of a GB/s after every subtraction. Whole MB/s give the same
// comparisons with no floating point, so a search finds the same channels with every compiler.
#pragma once

#include <cstdint>

#include "base/units.hpp"

namespace takt {

/// One direction of a link or one channel, MB/s (10^6 bytes per second).
using NcclSpeed = Quantity<struct NcclSpeedTag, std::int64_t>;

/// GB/s as a double, for formulas and reports.
constexpr double to_gigabytes(NcclSpeed speed) { return static_cast<double>(speed.count()) / 1000.0; }

/// The nearest whole MB/s.
constexpr NcclSpeed speed_from_gigabytes(double gigabytes) {
  return NcclSpeed(static_cast<std::int64_t>(gigabytes * 1000.0 + 0.5));
}

}  // namespace takt
