// One of n equal parts of a sweep, for several machines: part i of n has the points whose number leaves i - 1 when
// divided by n. Parts do not depend on machines or time, have no point in common, and hold like mixes of easy and hard
// points, since the last axis changes fastest.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>

namespace takt {

struct Shard {
  std::uint64_t part = 1;  ///< 1 .. parts
  std::uint64_t parts = 1;

  /// How many of a sweep's points are in this part.
  std::uint64_t size(std::uint64_t points) const { return points >= part ? (points - part) / parts + 1 : 0; }
  /// The number of the part's point at `position`, from 0.
  std::uint64_t point(std::uint64_t position) const { return part - 1 + position * parts; }
};

/// "3/8". Error: not two whole numbers with 1 <= i <= n.
Result<Shard> parse_shard(const std::string& text);

}  // namespace takt
