// Priced work for the engine: amounts, the resources they use while they run, and what must come before what.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
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
};

/// The parts of a collective, each standing after those that it waits for. A part is one of the collective's activities:
/// a ring over a thousand cards sends a million messages, which are a thousand activities.
class PartList {
 public:
  /// Each of so many activities once, none waiting.
  static PartList each_once(std::size_t activities);

  /// Adds a part that is this activity and waits for these parts; its number.
  std::uint32_t add(std::uint32_t activity, std::span<const std::uint32_t> after);

  std::uint32_t size() const { return static_cast<std::uint32_t>(activities_.size()); }
  bool empty() const { return activities_.empty(); }
  std::uint32_t activity(std::uint32_t part) const { return activities_[part]; }
  /// The parts that must be done before.
  std::span<const std::uint32_t> after(std::uint32_t part) const {
    return {after_.data() + first_after_[part], after_.data() + first_after_[part + 1]};
  }

 private:
  std::vector<std::uint32_t> activities_, first_after_ = {0}, after_;
};

inline PartList PartList::each_once(std::size_t activities) {
  PartList list;
  for (std::uint32_t activity = 0; activity < activities; ++activity) list.add(activity, {});
  return list;
}

inline std::uint32_t PartList::add(std::uint32_t activity, std::span<const std::uint32_t> after) {
  activities_.push_back(activity);
  after_.insert(after_.end(), after.begin(), after.end());
  first_after_.push_back(static_cast<std::uint32_t>(after_.size()));
  return size() - 1;
}

}  // namespace takt
