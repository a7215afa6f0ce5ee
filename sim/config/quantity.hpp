// Quantities as text: "450 GB/s", "64 GiB", "2 us", "835.5 TFLOP/s", "600 W", "1785 MHz".
//
// A quantity is a number and a unit with an optional space between. Decimal prefixes are powers of ten, binary ones
// (Ki, Mi, Gi, Ti, Pi) powers of two; "b" is a bit and "B" a byte. The number is read as if it were written in the base
// unit (the decimal prefix is added to its exponent), so "56.3 GB/s" is exactly the double nearest to 56.3e9.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace takt {

/// Why a text is not a quantity of the wanted dimension. `offset` is the position in the text that is to blame.
struct QuantityProblem {
  std::size_t offset = 0;
  std::string message;  ///< continues "KEY ...", e.g. "has the unknown unit \"GBs\""
  std::string hint;
};

template <class T>
struct ParsedQuantity {
  std::optional<T> value;
  QuantityProblem problem;  ///< meaningful if there is no value
};

/// Reads a quantity. T is Bytes, Duration, Bandwidth, FlopRate, Power or Frequency. Bytes and Duration are rounded to
/// the nearest byte and picosecond. Problems: no unit, unknown unit, a unit of another dimension, not a number,
/// negative, not finite, too large, not zero but less than half a byte or picosecond.
template <class T>
ParsedQuantity<T> parse_quantity(std::string_view text);

/// The shortest text that parse_quantity reads back as the same value, in the largest unit that allows it.
template <class T>
std::string quantity_text(T value);

/// What T measures, for messages and the key reference: "size", "time", "bandwidth", ...
template <class T>
std::string_view dimension_name();

/// The units of T, for messages: "B, kB, MB, ...", with an example: `"64 GiB"`.
template <class T>
std::string accepted_units();

}  // namespace takt
