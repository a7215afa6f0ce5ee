// Priced work for the engine: an amount, the resources it uses while it runs, and what must come before it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"

namespace takt {

/// `per_unit` units of the resource are used for each unit of the activity's work.
struct Demand {
  ResourceId resource{};
  double per_unit = 1.0;

  bool operator==(const Demand&) const = default;
};

/// Work on resources at rate x <= cap, where for every resource the sum of per_unit * x over all running activities
/// stays within its capacity; rates are weighted max-min fair over x / weight.
struct Activity {
  double work = 0.0;                                    ///< bytes of a flow, of one ring edge, ...; not negative
  double cap = std::numeric_limits<double>::infinity(); ///< highest rate, work units a second
  double weight = 1.0;
  double payload = 1.0;                                 ///< share of the work that is data: what reports count as moved
  Duration latency{};                                   ///< waits this long before it uses any resource
  std::vector<Demand> demands;                          ///< at most one entry a resource
  std::vector<std::uint32_t> after;                     ///< activities of the same collective that must be done first
};

}  // namespace takt
