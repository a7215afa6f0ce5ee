// A collective as a program calls it.
#pragma once

#include <compare>
#include <cstdint>

#include "base/units.hpp"

namespace takt {

enum class CollectiveKind : std::uint8_t { all_gather, reduce_scatter, all_reduce, broadcast };

/// `bytes` is the whole message: what each rank holds after an all-gather, what each rank puts into a reduce-scatter,
/// the buffer of an all-reduce or broadcast (semantics N40).
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::all_gather;
  Bytes bytes{};

  auto operator<=>(const CollectiveCall&) const = default;
};

}  // namespace takt
