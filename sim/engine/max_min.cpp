#include "engine/max_min.hpp"

#include <algorithm>

#include "base/contract.hpp"

namespace takt {

void MaxMinProblem::clear() {
  activities_.clear();
  resources_.clear();
  use_count_ = 0;
  has_caps_ = false;
}

/// The activities that a cap can stop at all, by the phi at which it does.
void MaxMinProblem::order_caps() {
  caps_.clear();
  if (!has_caps_) return;
  for (std::uint32_t a = 0; a < activities_.size(); ++a) {
    const Activity& activity = activities_[a];
    if (activity.cap < std::numeric_limits<double>::infinity()) caps_.push_back({activity.cap / activity.weight, a});
  }
  std::sort(caps_.begin(), caps_.end(), [](const Level& a, const Level& b) { return higher(b, a); });
}

void MaxMinProblem::order_levels() {
  heap_.clear();
  if (resources_.size() <= few_resources) return;
  for (std::uint32_t r = 0; r < resources_.size(); ++r) {
    if (resources_[r].open > 0) heap_.push_back({resources_[r].level(), r});
  }
  std::make_heap(heap_.begin(), heap_.end(), higher);
}

void MaxMinProblem::freeze(std::uint32_t activity, double at_rate, std::uint32_t by) {
  Activity& of = activities_[activity];
  of.frozen = true;
  rate[activity] = at_rate;
  frozen_by[activity] = by;
  for (std::uint32_t u = of.first_use; u < of.end_of_uses; ++u) {
    Resource& resource = resources_[uses_[u].resource];
    resource.remaining = std::max(0.0, resource.remaining - uses_[u].per_unit * at_rate);
    resource.demand -= uses_[u].per_unit * of.weight;
    --resource.open;
  }
}

/// Restores the heap after its top has grown: one way down, where a pop and a push would take two.
void MaxMinProblem::sink_top() {
  const Level sinking = heap_.front();
  std::size_t hole = 0;
  for (std::size_t child = 1; child < heap_.size(); child = 2 * hole + 1) {
    if (child + 1 < heap_.size() && higher(heap_[child], heap_[child + 1])) ++child;
    if (!higher(sinking, heap_[child])) break;
    heap_[hole] = heap_[child];
    hole = child;
  }
  heap_[hole] = sinking;
}

void MaxMinProblem::drop_top() {
  heap_.front() = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sink_top();
}

std::uint32_t MaxMinProblem::lowest_of_few() const {
  std::uint32_t lowest = none;
  double level = std::numeric_limits<double>::infinity();
  for (std::uint32_t r = 0; r < resources_.size(); ++r) {
    if (resources_[r].open == 0) continue;
    const double own = resources_[r].level();
    if (lowest != none && own >= level) continue;
    lowest = r;
    level = own;
  }
  return lowest;
}

std::uint32_t MaxMinProblem::lowest_of_heap() {
  while (!heap_.empty()) {
    const std::uint32_t r = heap_.front().id;
    if (resources_[r].open > 0) {
      const double level = resources_[r].level();
      if (level <= heap_.front().phi) return r;
      heap_.front().phi = level;
      sink_top();
    } else {
      drop_top();
    }
  }
  return none;
}

/// The resource with the lowest level; none if no resource has an open activity.
std::uint32_t MaxMinProblem::lowest() {
  return resources_.size() <= few_resources ? lowest_of_few() : lowest_of_heap();
}

void MaxMinProblem::solve() {
  rate.resize(activities_.size());
  frozen_by.resize(activities_.size());
  order_caps();
  order_levels();
  std::size_t next_cap = 0;
  for (std::size_t open = activities_.size(); open > 0;) {
    while (next_cap < caps_.size() && activities_[caps_[next_cap].id].frozen) ++next_cap;
    const std::uint32_t bottleneck = lowest();
    const double phi = bottleneck == none ? 0.0 : resources_[bottleneck].level();
    if (next_cap < caps_.size() && (bottleneck == none || caps_[next_cap].phi <= phi)) {
      const std::uint32_t a = caps_[next_cap].id;
      freeze(a, activities_[a].cap, cap_bound);
      --open;
      continue;
    }
    expects(bottleneck != none, "an activity has neither a cap nor a resource");
    for (std::uint32_t u = resources_[bottleneck].first_use; u != none; u = uses_[u].next) {
      const std::uint32_t a = uses_[u].activity;
      if (activities_[a].frozen) continue;
      freeze(a, phi * activities_[a].weight, bottleneck);
      --open;
    }
  }
}

}  // namespace takt
