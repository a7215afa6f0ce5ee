#include "engine/max_min.hpp"

#include <algorithm>

#include "base/contract.hpp"

namespace takt {

void MaxMinProblem::clear() {
  weight.clear();
  cap.clear();
  first_use.assign(1, 0);
  uses.clear();
  capacity.clear();
}

std::uint32_t MaxMinProblem::add_resource(double capacity_of_it) {
  capacity.push_back(capacity_of_it);
  return static_cast<std::uint32_t>(capacity.size() - 1);
}

void MaxMinProblem::begin_activity(double weight_of_it, double cap_of_it) {
  weight.push_back(weight_of_it);
  cap.push_back(cap_of_it);
  first_use.push_back(first_use.back());
}

void MaxMinProblem::add_use(std::uint32_t resource, double per_unit) {
  uses.push_back({resource, per_unit});
  ++first_use.back();
}

/// Transposes the uses: which activities use a resource.
void MaxMinProblem::index_users() {
  const std::size_t resources = capacity.size();
  first_user_.assign(resources + 1, 0);
  for (const Use& use : uses) ++first_user_[use.resource + 1];
  for (std::size_t r = 0; r < resources; ++r) first_user_[r + 1] += first_user_[r];
  users_.resize(uses.size());
  cursor_.assign(first_user_.begin(), first_user_.end() - 1);
  for (std::uint32_t a = 0; a < activities(); ++a) {
    for (std::uint32_t u = first_use[a]; u < first_use[a + 1]; ++u) users_[cursor_[uses[u].resource]++] = a;
  }
}

/// The activities that a cap can stop at all, by the phi at which it does.
void MaxMinProblem::order_caps() {
  caps_.clear();
  for (std::uint32_t a = 0; a < activities(); ++a) {
    if (cap[a] < std::numeric_limits<double>::infinity()) caps_.push_back({cap[a] / weight[a], a});
  }
  std::sort(caps_.begin(), caps_.end(), [](const Level& a, const Level& b) {
    return a.phi != b.phi ? a.phi < b.phi : a.id < b.id;
  });
}

void MaxMinProblem::freeze(std::uint32_t activity, double at_rate, std::uint32_t by) {
  frozen_[activity] = 1;
  rate[activity] = at_rate;
  frozen_by[activity] = by;
  for (std::uint32_t u = first_use[activity]; u < first_use[activity + 1]; ++u) {
    State& state = states_[uses[u].resource];
    state.remaining = std::max(0.0, state.remaining - uses[u].per_unit * at_rate);
    state.demand -= uses[u].per_unit * weight[activity];
    --state.open;
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

/// Brings the resource with the lowest level to the top of the heap; false if no resource has an open activity.
bool MaxMinProblem::lowest_level_on_top() {
  while (!heap_.empty()) {
    const std::uint32_t r = heap_.front().id;
    if (states_[r].open > 0) {
      const double level = level_of(r);
      if (level <= heap_.front().phi) return true;
      heap_.front().phi = level;
      sink_top();
    } else {
      drop_top();
    }
  }
  return false;
}

void MaxMinProblem::solve() {
  const auto count = static_cast<std::uint32_t>(activities());
  const auto resources = static_cast<std::uint32_t>(capacity.size());
  index_users();
  rate.assign(count, 0.0);
  frozen_by.assign(count, cap_bound);
  frozen_.assign(count, 0);
  states_.resize(resources);
  for (std::uint32_t r = 0; r < resources; ++r) states_[r] = {capacity[r], 0.0, first_user_[r + 1] - first_user_[r]};
  for (std::uint32_t a = 0; a < count; ++a) {
    for (std::uint32_t u = first_use[a]; u < first_use[a + 1]; ++u) {
      states_[uses[u].resource].demand += uses[u].per_unit * weight[a];
    }
  }
  order_caps();
  heap_.clear();
  for (std::uint32_t r = 0; r < resources; ++r) {
    if (states_[r].open > 0) heap_.push_back({level_of(r), r});
  }
  std::make_heap(heap_.begin(), heap_.end(), higher);

  std::size_t next_cap = 0;
  for (std::uint32_t open = count; open > 0;) {
    while (next_cap < caps_.size() && frozen_[caps_[next_cap].id] != 0) ++next_cap;
    const bool limited = lowest_level_on_top();
    if (next_cap < caps_.size() && (!limited || caps_[next_cap].phi <= heap_.front().phi)) {
      const std::uint32_t a = caps_[next_cap].id;
      freeze(a, cap[a], cap_bound);
      --open;
      continue;
    }
    expects(limited, "an activity has neither a cap nor a resource");
    const std::uint32_t bottleneck = heap_.front().id;
    const double phi = level_of(bottleneck);
    drop_top();
    for (std::uint32_t i = first_user_[bottleneck]; i < first_user_[bottleneck + 1]; ++i) {
      const std::uint32_t a = users_[i];
      if (frozen_[a] != 0) continue;
      freeze(a, phi * weight[a], bottleneck);
      --open;
    }
  }
}

}  // namespace takt
