// Ranges of a sweep: { from = 1024, to = 65536, factor = 2 }.
//
//     step = S      from, from + S, ... up to `to`
//     factor = F    from, from F, from F^2, ... up to `to`
//     count = N     N values from `from` to `to`, both included, evenly spaced; with scale = "log" in equal ratios
//
// `from` and `to` are numbers, or quantities of one unit ("25 GB/s"); a step has their unit, a factor none. Values are
// rounded to 12 significant digits, so that 0.1 + 0.2 is 0.3; those of a key that takes whole numbers to whole numbers,
// and values that this makes equal are taken once.
#pragma once

#include "config/node.hpp"
#include "config/reading.hpp"

#include <string>
#include <vector>

namespace takt {

/// What the key of a range takes.
enum class RangeNumbers { any, whole };

/// Whether a value of [sweep] is a range: a table with `from`.
bool is_range(const Node& node);

/// The values of a range, each standing where the range stands. Adds errors (and returns nothing) for a range that
/// lacks an end or a way to get there, that never reaches its end, or that has more than a million values. `key` is the
/// axis.
std::vector<Node> range_values(const Node& node, const std::string& key, RangeNumbers numbers, Reading& reading);

}  // namespace takt
