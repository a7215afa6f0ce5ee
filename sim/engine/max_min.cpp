#include "engine/max_min.hpp"

#include <algorithm>

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

double MaxMinProblem::level_of(std::uint32_t resource) const { return remaining_[resource] / demand_[resource]; }

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

void MaxMinProblem::freeze(std::uint32_t activity, double at_rate, std::uint32_t by) {
  frozen_[activity] = true;
  rate[activity] = at_rate;
  frozen_by[activity] = by;
  for (std::uint32_t u = first_use[activity]; u < first_use[activity + 1]; ++u) {
    const Use& use = uses[u];
    remaining_[use.resource] = std::max(0.0, remaining_[use.resource] - use.per_unit * at_rate);
    demand_[use.resource] -= use.per_unit * weight[activity];
    --open_[use.resource];
  }
}

void MaxMinProblem::solve() {
  const auto count = static_cast<std::uint32_t>(activities());
  const auto resources = static_cast<std::uint32_t>(capacity.size());
  index_users();
  rate.assign(count, 0.0);
  frozen_by.assign(count, cap_bound);
  frozen_.assign(count, false);
  remaining_ = capacity;
  demand_.assign(resources, 0.0);
  open_.assign(resources, 0);
  for (std::uint32_t a = 0; a < count; ++a) {
    for (std::uint32_t u = first_use[a]; u < first_use[a + 1]; ++u) {
      demand_[uses[u].resource] += uses[u].per_unit * weight[a];
      ++open_[uses[u].resource];
    }
  }
  by_cap_.resize(count);
  for (std::uint32_t a = 0; a < count; ++a) by_cap_[a] = a;
  std::sort(by_cap_.begin(), by_cap_.end(), [this](std::uint32_t a, std::uint32_t b) {
    const double phi_a = cap[a] / weight[a], phi_b = cap[b] / weight[b];
    return phi_a != phi_b ? phi_a < phi_b : a < b;
  });
  const auto higher = [](const Level& a, const Level& b) {
    return a.phi != b.phi ? a.phi > b.phi : a.resource > b.resource;
  };
  heap_.clear();
  for (std::uint32_t r = 0; r < resources; ++r) {
    if (open_[r] > 0) heap_.push_back({level_of(r), r});
  }
  std::make_heap(heap_.begin(), heap_.end(), higher);

  std::uint32_t next_cap = 0;
  for (;;) {
    while (next_cap < count && frozen_[by_cap_[next_cap]]) ++next_cap;
    if (next_cap == count) return;
    // Bring the lowest true level to the top.
    while (!heap_.empty()) {
      const std::uint32_t r = heap_.front().resource;
      const double level = open_[r] > 0 ? level_of(r) : std::numeric_limits<double>::infinity();
      if (open_[r] > 0 && level <= heap_.front().phi) break;
      std::pop_heap(heap_.begin(), heap_.end(), higher);
      if (open_[r] == 0) {
        heap_.pop_back();
      } else {
        heap_.back().phi = level;
        std::push_heap(heap_.begin(), heap_.end(), higher);
      }
    }
    const std::uint32_t capped = by_cap_[next_cap];
    const double cap_phi = cap[capped] / weight[capped];
    if (heap_.empty() || cap_phi <= heap_.front().phi) {
      freeze(capped, cap[capped], cap_bound);
      continue;
    }
    const std::uint32_t bottleneck = heap_.front().resource;
    const double phi = level_of(bottleneck);
    std::pop_heap(heap_.begin(), heap_.end(), higher);
    heap_.pop_back();
    for (std::uint32_t i = first_user_[bottleneck]; i < first_user_[bottleneck + 1]; ++i) {
      const std::uint32_t a = users_[i];
      if (!frozen_[a]) freeze(a, phi * weight[a], bottleneck);
    }
  }
}

}  // namespace takt
