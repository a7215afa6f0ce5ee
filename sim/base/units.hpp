// Quantities with a unit in their type, and the few named crossings between them.
//
// Time is an integer number of picoseconds (about 106 days fit), so that equal instants compare equal and results do
// not depend on the order of additions. Sizes are integer bytes; work and rates are doubles. Mixing units does not
// compile; the only way from bytes to time is transfer_time, and from floating-point operations compute_time.
#pragma once

#include <chrono>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

namespace takt {

/// A span of simulated time, or an instant counted from the start of the simulation. Unit: picoseconds.
using Duration = std::chrono::duration<std::int64_t, std::pico>;

/// A number with a unit: `Tag` names the unit, `Rep` is the number's type.
template <class Tag, class Rep>
class Quantity {
 public:
  using rep = Rep;
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep value) : value_(value) {}
  constexpr Rep count() const { return value_; }
  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) { value_ += other.value_; return *this; }
  constexpr Quantity& operator-=(Quantity other) { value_ -= other.value_; return *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, Rep factor) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator/(Quantity a, Rep divisor) { return Quantity(a.value_ / divisor); }

 private:
  Rep value_{};
};

using Bytes = Quantity<struct BytesTag, std::int64_t>;      ///< bytes
using Flops = Quantity<struct FlopsTag, double>;            ///< floating-point operations
using Bandwidth = Quantity<struct BandwidthTag, double>;    ///< bytes per second
using FlopRate = Quantity<struct FlopRateTag, double>;      ///< floating-point operations per second
using Power = Quantity<struct PowerTag, double>;            ///< watts
using Frequency = Quantity<struct FrequencyTag, double>;    ///< hertz

inline constexpr double picoseconds_per_second = 1e12;

/// Seconds as a double, for reports.
constexpr double to_seconds(Duration time) { return static_cast<double>(time.count()) / picoseconds_per_second; }

/// The shortest whole number of picoseconds that is not less than `seconds` (a completion is rounded up).
/// Values beyond what Duration holds saturate.
inline Duration duration_from_seconds(double seconds) {
  const double picoseconds = std::ceil(seconds * picoseconds_per_second);
  constexpr double limit = 9.2e18;
  if (!(picoseconds < limit)) return Duration(std::numeric_limits<std::int64_t>::max());
  return Duration(static_cast<std::int64_t>(picoseconds));
}

/// Time to move `size` at `bandwidth`, rounded up. `bandwidth` must be positive.
inline Duration transfer_time(Bytes size, Bandwidth bandwidth) {
  return duration_from_seconds(static_cast<double>(size.count()) / bandwidth.count());
}

/// Time to do `work` at `rate`, rounded up. `rate` must be positive.
inline Duration compute_time(Flops work, FlopRate rate) { return duration_from_seconds(work.count() / rate.count()); }

}  // namespace takt
