// A collective as a program calls it.
#pragma once

#include "base/units.hpp"

#include <compare>
#include <cstdint>

namespace takt {

enum class CollectiveKind : std::uint8_t { all_gather, reduce_scatter, all_reduce, broadcast };

/// What a reduction does with the addends; gathers and broadcasts ignore it. NVSwitches can add but not scale, so that
/// an average runs otherwise than a sum (semantics N48: DDP sums, FSDP2 averages).
enum class Reduction : std::uint8_t { sum, average };

/// `bytes` is the whole message: what each rank holds after an all-gather, what each rank puts into a reduce-scatter,
/// the buffer of an all-reduce or broadcast (semantics N40).
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::all_gather;
  Bytes bytes{};
  Reduction reduction = Reduction::sum;

  auto operator<=>(const CollectiveCall&) const = default;
};

}  // namespace takt
