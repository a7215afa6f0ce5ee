// Sets of time, as sorted disjoint intervals: what breakdowns and overlaps are made of.
#pragma once

#include "base/units.hpp"

#include <vector>

namespace takt {

/// [begin, end), begin < end.
struct Interval {
  Duration begin{};
  Duration end{};

  bool operator==(const Interval&) const = default;
};

/// A set of instants. Always sorted, disjoint and without empty intervals; neighbours that touch are joined.
class TimeSet {
 public:
  TimeSet() = default;
  /// The union of any intervals, in any order; empty ones are dropped.
  explicit TimeSet(std::vector<Interval> intervals);

  const std::vector<Interval>& intervals() const { return intervals_; }
  Duration length() const;

  friend TimeSet operator|(const TimeSet& a, const TimeSet& b);  ///< in a or in b
  friend TimeSet operator&(const TimeSet& a, const TimeSet& b);  ///< in both
  friend TimeSet operator-(const TimeSet& a, const TimeSet& b);  ///< in a and not in b

 private:
  std::vector<Interval> intervals_;
};

}  // namespace takt
