#include "report/format.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <span>

namespace takt {
namespace {

struct UnitName {
  double size;
  const char* name;
};

/// Number of decimals with which `value` shows `digits` significant digits once it is rounded (9.996 is 10.0,
/// not 10.00).
int decimals_for(double value, int digits) {
  const std::string scientific = fmt::format("{:.{}e}", value, digits - 1);
  const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  return std::max(0, digits - 1 - exponent);
}

/// `value` in the largest of `units` (ascending) in which it is at least 1 after rounding.
std::string format_in(double value, std::span<const UnitName> units, int digits) {
  const UnitName* chosen = &units.front();
  const double rounded = std::strtod(fmt::format("{:.{}e}", value, digits - 1).c_str(), nullptr);
  for (const UnitName& unit : units) {
    if (std::abs(rounded) >= unit.size) chosen = &unit;
  }
  return format_number(value / chosen->size, digits) + ' ' + chosen->name;
}

constexpr std::array<UnitName, 5> time_units = {{{1.0, "ps"}, {1e3, "ns"}, {1e6, "us"}, {1e9, "ms"}, {1e12, "s"}}};
constexpr std::array<UnitName, 5> size_units = {{{1.0, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}}};
constexpr std::array<UnitName, 5> bandwidth_units = {
    {{1.0, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}}};
/// Bandwidths of links and memories are compared with each other, so all of them read in GB/s.
constexpr std::size_t bandwidth_units_used = 4;

}  // namespace

std::string format_number(double value, int digits) {
  if (value == 0.0) return "0";
  if (!std::isfinite(value)) return std::isnan(value) ? "-" : (value > 0.0 ? "unlimited" : "-unlimited");
  return fmt::format("{:.{}f}", value, decimals_for(value, digits));
}

std::string format_time(Duration time, int digits) {
  return time == Duration{} ? "0 s" : format_in(static_cast<double>(time.count()), time_units, digits);
}

std::string format_size(Bytes size, int digits) {
  return format_in(static_cast<double>(size.count()), size_units, digits);
}

std::string format_bandwidth(Bandwidth bandwidth, int digits) {
  return format_in(bandwidth.count(), std::span(bandwidth_units).first(bandwidth_units_used), digits);
}

std::string format_share(double share) {
  return fmt::format("{:.1f} %", 100.0 * share);
}

std::string format_count(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t place = digits.size(); place > first + 3;) {
    place -= 3;
    digits.insert(place, 1, ',');
  }
  return digits;
}

}  // namespace takt
