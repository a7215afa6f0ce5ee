#include "metrics/intervals.hpp"

#include <algorithm>
#include <cstddef>

namespace takt {

TimeSet::TimeSet(std::vector<Interval> intervals) {
  const auto earlier = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), earlier)) {
    std::sort(intervals.begin(), intervals.end(), earlier);
  }
  for (const Interval& next : intervals) {
    if (next.end <= next.begin) continue;
    if (!intervals_.empty() && next.begin <= intervals_.back().end) {
      intervals_.back().end = std::max(intervals_.back().end, next.end);
    } else {
      intervals_.push_back(next);
    }
  }
}

Duration TimeSet::length() const {
  Duration sum{};
  for (const Interval& interval : intervals_) sum += interval.end - interval.begin;
  return sum;
}

TimeSet operator|(const TimeSet& a, const TimeSet& b) {
  std::vector<Interval> all = a.intervals_;
  all.insert(all.end(), b.intervals_.begin(), b.intervals_.end());
  return TimeSet(std::move(all));
}

TimeSet operator&(const TimeSet& a, const TimeSet& b) {
  TimeSet both;
  for (std::size_t i = 0, j = 0; i < a.intervals_.size() && j < b.intervals_.size();) {
    const Interval& x = a.intervals_[i];
    const Interval& y = b.intervals_[j];
    const Interval common{std::max(x.begin, y.begin), std::min(x.end, y.end)};
    if (common.begin < common.end) both.intervals_.push_back(common);
    if (x.end < y.end) {
      ++i;
    } else {
      ++j;
    }
  }
  return both;
}

TimeSet operator-(const TimeSet& a, const TimeSet& b) {
  TimeSet rest;
  std::size_t j = 0;
  for (const Interval& interval : a.intervals_) {
    Duration from = interval.begin;
    while (j < b.intervals_.size() && b.intervals_[j].end <= from) ++j;
    for (std::size_t k = j; k < b.intervals_.size() && b.intervals_[k].begin < interval.end; ++k) {
      if (from < b.intervals_[k].begin) rest.intervals_.push_back({from, b.intervals_[k].begin});
      from = b.intervals_[k].end;
    }
    if (from < interval.end) rest.intervals_.push_back({from, interval.end});
  }
  return rest;
}

}  // namespace takt
