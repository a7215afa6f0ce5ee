// How quantities read in tables: the one place that rounds. Files for programs (JSON, CSV) are not rounded.
#pragma once

#include "base/units.hpp"

#include <cstdint>
#include <string>

namespace takt {

/// Digits that a reader of a table needs; more would claim an accuracy that a model does not have.
inline constexpr int table_digits = 3;

/// `value` with `digits` significant digits and no exponent: 0.0123, 1.23, 12.3, 123, 1230.
std::string format_number(double value, int digits = table_digits);

/// "12.3 ms": the unit (ps, ns, us, ms, s) in which the number is at least 1. Hours do not occur in a step.
std::string format_time(Duration time, int digits = table_digits);

/// "141 GB", decimal as data sheets count (1 GB = 1e9 B).
std::string format_size(Bytes size, int digits = table_digits);

/// "56.3 GB/s".
std::string format_bandwidth(Bandwidth bandwidth, int digits = table_digits);

/// A part of one as "41.3 %", always one decimal.
std::string format_share(double share);

/// "32,768".
std::string format_count(std::int64_t count);

}  // namespace takt
