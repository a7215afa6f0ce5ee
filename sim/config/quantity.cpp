#include "config/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "base/contract.hpp"
#include "base/text.hpp"

namespace takt {
namespace {

enum class Dimension { size, time, bandwidth, compute_rate, power, frequency };

/// One unit: a value of 1 is `factor` x 10^`exponent` base units (byte, picosecond, B/s, FLOP/s, W, Hz).
struct Unit {
  std::string_view symbol;
  Dimension dimension;
  int exponent;
  double factor;
};

constexpr double kibi = 1024.0;
constexpr double mebi = kibi * kibi;
constexpr double gibi = kibi * mebi;
constexpr double tebi = kibi * gibi;
constexpr double pebi = kibi * tebi;
constexpr double byte_per_bit = 0.125;
constexpr double seconds_per_minute = 60.0;
constexpr double seconds_per_hour = 3600.0;

/// In each dimension from large to small: quantity_text takes the first that fits.
constexpr std::array units = {
    Unit{"PiB", Dimension::size, 0, pebi},
    Unit{"PB", Dimension::size, 15, 1},
    Unit{"TiB", Dimension::size, 0, tebi},
    Unit{"TB", Dimension::size, 12, 1},
    Unit{"GiB", Dimension::size, 0, gibi},
    Unit{"GB", Dimension::size, 9, 1},
    Unit{"MiB", Dimension::size, 0, mebi},
    Unit{"MB", Dimension::size, 6, 1},
    Unit{"KiB", Dimension::size, 0, kibi},
    Unit{"kB", Dimension::size, 3, 1},
    Unit{"B", Dimension::size, 0, 1},
    Unit{"h", Dimension::time, 12, seconds_per_hour},
    Unit{"min", Dimension::time, 12, seconds_per_minute},
    Unit{"s", Dimension::time, 12, 1},
    Unit{"ms", Dimension::time, 9, 1},
    Unit{"us", Dimension::time, 6, 1},
    Unit{"ns", Dimension::time, 3, 1},
    Unit{"ps", Dimension::time, 0, 1},
    Unit{"TB/s", Dimension::bandwidth, 12, 1},
    Unit{"GB/s", Dimension::bandwidth, 9, 1},
    Unit{"MB/s", Dimension::bandwidth, 6, 1},
    Unit{"kB/s", Dimension::bandwidth, 3, 1},
    Unit{"B/s", Dimension::bandwidth, 0, 1},
    Unit{"TiB/s", Dimension::bandwidth, 0, tebi},
    Unit{"GiB/s", Dimension::bandwidth, 0, gibi},
    Unit{"MiB/s", Dimension::bandwidth, 0, mebi},
    Unit{"KiB/s", Dimension::bandwidth, 0, kibi},
    Unit{"Tb/s", Dimension::bandwidth, 12, byte_per_bit},
    Unit{"Gb/s", Dimension::bandwidth, 9, byte_per_bit},
    Unit{"Mb/s", Dimension::bandwidth, 6, byte_per_bit},
    Unit{"kb/s", Dimension::bandwidth, 3, byte_per_bit},
    Unit{"PFLOP/s", Dimension::compute_rate, 15, 1},
    Unit{"TFLOP/s", Dimension::compute_rate, 12, 1},
    Unit{"GFLOP/s", Dimension::compute_rate, 9, 1},
    Unit{"MFLOP/s", Dimension::compute_rate, 6, 1},
    Unit{"FLOP/s", Dimension::compute_rate, 0, 1},
    Unit{"MW", Dimension::power, 6, 1},
    Unit{"kW", Dimension::power, 3, 1},
    Unit{"W", Dimension::power, 0, 1},
    Unit{"GHz", Dimension::frequency, 9, 1},
    Unit{"MHz", Dimension::frequency, 6, 1},
    Unit{"kHz", Dimension::frequency, 3, 1},
    Unit{"Hz", Dimension::frequency, 0, 1},
};

struct DimensionWords {
  std::string_view name;
  std::string_view with_article;
  std::string_view example;
};

DimensionWords words(Dimension dimension) {
  switch (dimension) {
    case Dimension::size: return {"size", "a size", "64 GiB"};
    case Dimension::time: return {"time", "a time", "2 us"};
    case Dimension::bandwidth: return {"bandwidth", "a bandwidth", "450 GB/s"};
    case Dimension::compute_rate: return {"compute rate", "a compute rate", "835.5 TFLOP/s"};
    case Dimension::power: return {"power", "a power", "600 W"};
    case Dimension::frequency: return {"frequency", "a frequency", "1785 MHz"};
  }
  unreachable("every dimension has words");
}

template <class T>
constexpr Dimension dimension_of() {
  if constexpr (std::is_same_v<T, Bytes>) return Dimension::size;
  if constexpr (std::is_same_v<T, Duration>) return Dimension::time;
  if constexpr (std::is_same_v<T, Bandwidth>) return Dimension::bandwidth;
  if constexpr (std::is_same_v<T, FlopRate>) return Dimension::compute_rate;
  if constexpr (std::is_same_v<T, Power>) return Dimension::power;
  if constexpr (std::is_same_v<T, Frequency>) return Dimension::frequency;
}

std::string unit_list(Dimension dimension) {
  std::vector<std::string> symbols;
  for (const Unit& unit : units) {
    if (unit.dimension == dimension) symbols.emplace_back(unit.symbol);
  }
  return fmt::format("{} (e.g. \"{}\")", join(symbols, ", "), words(dimension).example);
}

const Unit* find_unit(std::string_view symbol) {
  if (symbol == "\u00b5s") symbol = "us";
  for (const Unit& unit : units) {
    if (unit.symbol == symbol) return &unit;
  }
  return nullptr;
}

/// The number and the unit of a text, apart. The number is what std::from_chars takes as decimal digits, a point and
/// an exponent; "1e3" is a number, "1 e3" is the number 1 and the unit "e3".
struct Pieces {
  std::string_view digits;  ///< with sign and point, without exponent
  int exponent = 0;
  std::string_view unit;
  std::size_t unit_offset = 0;
};

std::optional<Pieces> split(std::string_view text) {
  Pieces pieces;
  std::size_t at = !text.empty() && (text.front() == '-' || text.front() == '+') ? 1 : 0;
  const std::size_t first_digit = at;
  bool any_digit = false;
  while (at < text.size() && (text[at] == '.' || (text[at] >= '0' && text[at] <= '9'))) {
    any_digit = any_digit || text[at] != '.';
    ++at;
  }
  if (!any_digit) return std::nullopt;
  const std::string_view number = text.substr(first_digit, at - first_digit);
  if (number.find('.') != number.rfind('.')) return std::nullopt;
  pieces.digits = text.substr(text.front() == '+' ? 1 : 0, at - (text.front() == '+' ? 1 : 0));
  if (at + 1 < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const std::size_t sign = text[at + 1] == '+' ? 1 : 0;
    const auto [end, error] = std::from_chars(text.data() + at + 1 + sign, text.data() + text.size(), pieces.exponent);
    if (error == std::errc{}) at = static_cast<std::size_t>(end - text.data());
  }
  const std::size_t unit_begin = text.find_first_not_of(" \t", at);
  pieces.unit_offset = std::min(unit_begin, text.size());
  pieces.unit = trim(text.substr(pieces.unit_offset));
  return pieces;
}

bool equal_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

/// The unit that was meant: "Us" for us, "TFLOPS" for TFLOP/s, "usec" for us, "G" for GB/s.
std::optional<std::string> near_unit(std::string_view word, const std::vector<std::string>& symbols) {
  for (const std::string& symbol : symbols) {
    if (equal_but_for_case(word, symbol)) return symbol;
  }
  if (std::optional<std::string> near = did_you_mean(word, symbols)) return near;
  std::optional<std::string> longest;
  for (const std::string& symbol : symbols) {
    if (symbol.starts_with(word)) return symbol;
    if (word.starts_with(symbol) && (!longest || symbol.size() > longest->size())) longest = symbol;
  }
  return longest;
}

QuantityProblem unknown_unit(const Pieces& pieces, Dimension dimension) {
  std::vector<std::string> symbols;
  for (const Unit& unit : units) {
    if (unit.dimension == dimension) symbols.emplace_back(unit.symbol);
  }
  QuantityProblem problem{pieces.unit_offset, fmt::format("has the unknown unit \"{}\"", pieces.unit), ""};
  const std::optional<std::string> near = near_unit(pieces.unit, symbols);
  problem.hint = near ? fmt::format("did you mean \"{}\"? ", *near) : "";
  problem.hint += fmt::format("units of {} are {}", words(dimension).with_article, unit_list(dimension));
  return problem;
}

/// A value in base units, and the same as a whole number where there is one.
struct BaseValue {
  double real = 0;
  std::optional<std::int64_t> whole;
  QuantityProblem problem;
  bool ok = false;
};

BaseValue fail(QuantityProblem problem) {
  BaseValue value;
  value.problem = std::move(problem);
  return value;
}

/// An integer times a whole factor, without a detour over doubles (sizes beyond 2^53 stay exact).
std::optional<std::int64_t> exact_whole(const Pieces& pieces, const Unit& unit) {
  std::int64_t value = 0;
  const char* const end = pieces.digits.data() + pieces.digits.size();
  const auto [stop, error] = std::from_chars(pieces.digits.data(), end, value);
  if (error != std::errc{} || stop != end || pieces.exponent != 0 || unit.factor < 1) return std::nullopt;
  constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  std::int64_t scale = static_cast<std::int64_t>(unit.factor);
  constexpr std::int64_t ten = 10;
  for (int i = 0; i < unit.exponent; ++i) {
    if (scale > limit / ten) return std::nullopt;
    scale *= ten;
  }
  if (value != 0 && (value < 0 || value > limit / scale)) return std::nullopt;
  return value * scale;
}

BaseValue to_base(std::string_view text, Dimension dimension) {
  const std::string_view want = words(dimension).with_article;
  if (trim(text).empty()) return fail({0, fmt::format("is empty, but needs {}", want), "write " + unit_list(dimension)});
  const std::optional<Pieces> pieces = split(text);
  if (!pieces) {
    const bool infinite = text.find("inf") == 0 || text.find("nan") == 0 || text.find("-inf") == 0;
    const std::string_view why = infinite ? "must be a finite number with a unit" : "does not begin with a number";
    return fail({0, std::string(why), fmt::format("write {} such as \"{}\"", want, words(dimension).example)});
  }
  if (pieces->unit.empty()) {
    return fail({0, fmt::format("needs a unit: it is {}", want), fmt::format("units are {}", unit_list(dimension))});
  }
  const Unit* unit = find_unit(pieces->unit);
  if (!unit) return fail(unknown_unit(*pieces, dimension));
  if (unit->dimension != dimension) {
    const std::string_view got = words(unit->dimension).with_article;
    return fail({pieces->unit_offset, fmt::format("needs {}, but \"{}\" is a unit of {}", want, unit->symbol, words(unit->dimension).name),
                 fmt::format("\"{}\" would be {}; units of {} are {}", text, got, want, unit_list(dimension))});
  }
  if (pieces->digits.front() == '-') return fail({0, "must not be negative", ""});

  const std::string shifted = fmt::format("{}e{}", pieces->digits, pieces->exponent + unit->exponent);
  BaseValue value;
  const auto [end, error] = std::from_chars(shifted.data(), shifted.data() + shifted.size(), value.real);
  value.real *= unit->factor;
  if (error != std::errc{} || !std::isfinite(value.real)) {
    return fail({0, "is outside of what a number can hold", ""});
  }
  value.whole = exact_whole(*pieces, *unit);
  constexpr double whole_limit = 9.2e18;  // just below 2^63
  if (!value.whole && value.real < whole_limit) value.whole = std::llround(value.real);
  value.ok = true;
  return value;
}

template <class T>
double base_count(T value) {
  return static_cast<double>(value.count());
}

template <class T>
constexpr bool counts_whole = std::is_same_v<typename T::rep, std::int64_t>;

/// `value` in `unit`, if that reads back exactly.
template <class T>
std::optional<std::string> text_in(T value, const Unit& unit) {
  double scale = unit.factor;
  for (int i = 0; i < unit.exponent; ++i) scale *= 10.0;
  if constexpr (counts_whole<T>) {
    const auto whole_scale = static_cast<std::int64_t>(scale);
    if (whole_scale < 1 || value.count() % whole_scale != 0 || value.count() < whole_scale) return std::nullopt;
    return fmt::format("{} {}", value.count() / whole_scale, unit.symbol);
  } else {
    if (value.count() < scale) return std::nullopt;
    const std::string text = fmt::format("{} {}", value.count() / scale, unit.symbol);
    const ParsedQuantity<T> again = parse_quantity<T>(text);
    if (!again.value || *again.value != value) return std::nullopt;
    return text;
  }
}

}  // namespace

template <class T>
ParsedQuantity<T> parse_quantity(std::string_view text) {
  BaseValue base = to_base(text, dimension_of<T>());
  if (!base.ok) return {std::nullopt, std::move(base.problem)};
  if constexpr (counts_whole<T>) {
    constexpr std::string_view smallest = std::is_same_v<T, Bytes> ? "byte" : "picosecond";
    if (!base.whole) return {std::nullopt, {0, fmt::format("is more {}s than a 64-bit number holds", smallest), ""}};
    if (*base.whole == 0 && base.real > 0) return {std::nullopt, {0, fmt::format("is less than one {}", smallest), ""}};
    return {T(*base.whole), {}};
  } else {
    return {T(base.real), {}};
  }
}

template <class T>
std::string quantity_text(T value) {
  const Unit* base = nullptr;
  for (const Unit& unit : units) {
    if (unit.dimension != dimension_of<T>()) continue;
    if (unit.exponent == 0 && unit.factor == 1) base = &unit;
    if (std::optional<std::string> text = text_in(value, unit)) return *text;
  }
  if (std::is_same_v<T, Duration>) return fmt::format("{} ps", value.count());
  return fmt::format("{} {}", value.count(), base->symbol);
}

template <class T>
std::string_view dimension_name() {
  return words(dimension_of<T>()).name;
}

template <class T>
std::string accepted_units() {
  return unit_list(dimension_of<T>());
}

template ParsedQuantity<Bytes> parse_quantity(std::string_view);
template ParsedQuantity<Duration> parse_quantity(std::string_view);
template ParsedQuantity<Bandwidth> parse_quantity(std::string_view);
template ParsedQuantity<FlopRate> parse_quantity(std::string_view);
template ParsedQuantity<Power> parse_quantity(std::string_view);
template ParsedQuantity<Frequency> parse_quantity(std::string_view);
template std::string quantity_text(Bytes);
template std::string quantity_text(Duration);
template std::string quantity_text(Bandwidth);
template std::string quantity_text(FlopRate);
template std::string quantity_text(Power);
template std::string quantity_text(Frequency);
template std::string_view dimension_name<Bytes>();
template std::string_view dimension_name<Duration>();
template std::string_view dimension_name<Bandwidth>();
template std::string_view dimension_name<FlopRate>();
template std::string_view dimension_name<Power>();
template std::string_view dimension_name<Frequency>();
template std::string accepted_units<Bytes>();
template std::string accepted_units<Duration>();
template std::string accepted_units<Bandwidth>();
template std::string accepted_units<FlopRate>();
template std::string accepted_units<Power>();
template std::string accepted_units<Frequency>();

}  // namespace takt
