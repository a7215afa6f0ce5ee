// The rates of one instant: what can bind, which set is solved again, and what its members then do.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/fluid.hpp"

namespace takt {
namespace {

/// Capacities are given to about 1e-3; a resource whose highest possible load passes its capacity by less than this
/// relative rounding error cannot bind.
constexpr double rounding = 1e-12;

/// Rounds in which the set that is solved grows by what its new rates touch; then it takes all that is reachable.
constexpr int most_rounds = 8;

/// Solved again with other numbers, a rate that does not change comes out equal but for rounding.
bool is_same_rate(double before, double after) { return std::abs(after - before) <= rounding * before; }

/// Time to do `work` at `rate` from now, rounded up to a picosecond; a part in 1e15 of rounding noise does not count.
Duration time_for(double work, double rate) {
  const double picoseconds = std::ceil(work / rate * picoseconds_per_second * (1.0 - 1e-15));
  if (!(picoseconds < 9e18)) return Duration::max();
  return Duration(static_cast<std::int64_t>(picoseconds));
}

}  // namespace

void FluidNetwork::solve(Duration now) {
  refresh_binding();
  for (int round = 1; !members_.empty(); ++round) {
    const std::size_t size = members_.size();
    gather_all();
    solve_all();
    for (std::size_t i = 0; i < component_count_; ++i) widen(components_[i]);
    if (members_.size() == size) break;
    if (round == most_rounds) add_all_reachable();
  }
  apply(now);
  floor_ = std::numeric_limits<double>::infinity();
  publish_rates(now);
}

/// Decides for each touched resource whether it can bind, and begins the set with the activities whose rates may change
/// because of that alone: the changed ones, those that a touched resource holds, and all users of one that begins to
/// bind.
void FluidNetwork::refresh_binding() {
  ++set_;
  members_.clear();
  seeds_.clear();
  for (const std::uint32_t r : touched_) refresh_binding_of(r);
  touched_.clear();
  for (const std::uint32_t activity : seeds_) add_member(activity);   // only now is the floor known
  for (const std::uint32_t activity : changed_) {
    running_[activity].changed = false;
    if (running_[activity].live) add_member(activity);
  }
  changed_.clear();
}

void FluidNetwork::refresh_binding_of(std::uint32_t resource) {
  ResourceState& state = states_[resource];
  state.touched = false;
  const bool could_bind = state.can_bind;
  if (options_.prune) {
    double load = 0.0;
    for (const User& user : state.users) load += user.per_unit * running_[user.activity].highest;
    state.can_bind = state.users.size() > 1 && load > table_[resource].capacity * (1.0 + rounding);
  }
  const bool begins_to_bind = state.can_bind && !could_bind;
  for (const User& user : state.users) {
    if (begins_to_bind || is_held_by(running_[user.activity], resource)) seeds_.push_back(user.activity);
  }
  if (state.can_bind) floor_ = std::min(floor_, level_of_new(resource));
}

bool FluidNetwork::is_held_by(const Running& running, std::uint32_t resource) {
  return running.cause == Cause::resource && index(running.cause_resource) == resource;
}

/// The level at which a resource with new activities fills, or a bit below: with the others at their present phi where
/// that is lower, at a common level l where not,   sum of d w min(phi, l) = C.   The iteration approaches l from below.
/// Infinite without new ones.
double FluidNetwork::level_of_new(std::uint32_t resource) const {
  const ResourceState& state = states_[resource];
  const auto is_new = [&](const User& user) { return running_[user.activity].rate == 0.0; };
  if (std::none_of(state.users.begin(), state.users.end(), is_new)) return std::numeric_limits<double>::infinity();
  double level = 0.0;
  constexpr int rounds = 3;
  for (int round = 0; round < rounds; ++round) {
    double left = table_[resource].capacity, demand = 0.0;
    for (const User& user : state.users) {
      const Running& running = running_[user.activity];
      if (running.rate > 0.0 && running.rate < level * running.weight) left -= user.per_unit * running.rate;
      else demand += user.per_unit * running.weight;
    }
    level = std::max(level, left / demand);
  }
  return level;
}

/// Strictly below the floor, with room for rounding: ties are solved again.
bool FluidNetwork::keeps_its_rate(const Running& running) const {
  return running.rate > 0.0 && running.rate < floor_ * running.weight * (1.0 - 1e-9);
}

bool FluidNetwork::is_bound(const Running& running) const {
  const std::span<const Demand> demands = running.demands();
  return std::any_of(demands.begin(), demands.end(),
                     [this](const Demand& demand) { return states_[index(demand.resource)].can_bind; });
}

/// Takes an activity into the set that is solved, unless it is there or keeps its rate.
void FluidNetwork::add_member(std::uint32_t activity) {
  Running& running = running_[activity];
  if (running.set == set_ || keeps_its_rate(running)) return;
  running.set = set_;
  members_.push_back(activity);
}

/// Adds all that is reachable over resources that can bind.
void FluidNetwork::add_all_reachable() {
  for (std::size_t head = 0; head < members_.size(); ++head) {
    for (const Demand& demand : running_[members_[head]].demands()) {
      ResourceState& state = states_[index(demand.resource)];
      if (!state.can_bind || state.set == set_) continue;
      state.set = set_;
      for (const User& user : state.users) add_member(user.activity);
    }
  }
}

/// What activities outside the set leave of a resource; its members join the component.
double FluidNetwork::left_for_members(std::uint32_t resource, Component& component) {
  double left = table_[resource].capacity;
  bool shared = false;
  for (const User& user : states_[resource].users) {
    Running& other = running_[user.activity];
    if (other.set != set_) {
      left = std::max(0.0, left - user.per_unit * other.rate);
      shared = true;
    } else if (other.mark != mark_) {
      other.mark = mark_;
      component.activities.push_back(user.activity);
    }
  }
  if (shared) component.shared.push_back(static_cast<std::uint32_t>(component.resources.size()));
  return left;
}

/// Collects the component of `seed`, all members of the set that are reachable over resources that can bind, and writes
/// its problem.
void FluidNetwork::gather(std::uint32_t seed, Component& component) {
  MaxMinProblem& problem = component.problem;
  problem.clear();
  component.activities.assign(1, seed);
  component.resources.clear();
  component.shared.clear();
  running_[seed].mark = mark_;
  for (std::size_t head = 0; head < component.activities.size(); ++head) {
    const Running& running = running_[component.activities[head]];
    // What a resource of this very problem limits needs no cap of its own.
    const bool implied = running.highest_is_resource && states_[index(running.highest_resource)].can_bind;
    problem.begin_activity(running.weight, implied ? std::numeric_limits<double>::infinity() : running.highest);
    for (const Demand& demand : running.demands()) {
      const auto r = static_cast<std::uint32_t>(demand.resource);
      ResourceState& state = states_[r];
      if (!state.can_bind) continue;
      if (state.mark != mark_) {
        state.mark = mark_;
        state.local = problem.add_resource(left_for_members(r, component));
        component.resources.push_back(r);
      }
      problem.add_use(state.local, demand.per_unit);
    }
  }
}

/// The components of the set, and what no resource binds.
void FluidNetwork::gather_all() {
  ++mark_;
  component_count_ = 0;
  unbound_.clear();
  for (const std::uint32_t member : members_) {
    if (running_[member].mark == mark_) continue;
    if (!is_bound(running_[member])) {
      unbound_.push_back(member);
      continue;
    }
    if (component_count_ == components_.size()) components_.emplace_back();
    gather(member, components_[component_count_++]);
  }
}

void FluidNetwork::solve_all() {
  if (component_count_ > 1 && options_.executor != nullptr &&
      members_.size() - unbound_.size() >= parallel_grain) {
    options_.executor->for_each(component_count_, [this](std::size_t i) { components_[i].problem.solve(); });
  } else {
    for (std::size_t i = 0; i < component_count_; ++i) components_[i].problem.solve();
  }
}

/// Adds the activities outside the set that the component's new rates do not leave in peace: those held by a resource
/// on which a rate has changed, and those above the level at which a resource now holds a member.
void FluidNetwork::widen(const Component& component) {
  if (component.shared.empty()) return;
  edges_.assign(component.resources.size(), {});
  for (std::uint32_t i = 0; i < component.activities.size(); ++i) {
    const Running& running = running_[component.activities[i]];
    const double rate = component.problem.rate[i];
    const std::uint32_t by = component.problem.frozen_by[i];
    if (by != MaxMinProblem::cap_bound) edges_[by].level = rate / running.weight;
    if (is_same_rate(running.rate, rate)) continue;
    for (const Demand& demand : running.demands()) {
      const ResourceState& state = states_[index(demand.resource)];
      if (state.can_bind) edges_[state.local].changed = true;
    }
  }
  for (const std::uint32_t local : component.shared) {
    const Edge& edge = edges_[local];
    const std::uint32_t r = component.resources[local];
    for (const User& user : states_[r].users) {
      const Running& other = running_[user.activity];
      const bool is_above = other.rate > edge.level * other.weight * (1.0 + rounding);
      if (is_above || (edge.changed && is_held_by(other, r))) add_member(user.activity);
    }
  }
}

void FluidNetwork::set_rate(Duration now, std::uint32_t activity, double rate, Cause cause, ResourceId resource) {
  Running& running = running_[activity];
  if (is_same_rate(running.rate, rate)) rate = running.rate;
  const bool same_cause = running.cause == cause && (cause != Cause::resource || running.cause_resource == resource);
  if (!same_cause || (running.alone > 0.0 && rate != running.rate)) close_charge(now, running);
  if (!same_cause) {
    running.cause = cause;
    running.cause_resource = resource;
  }
  if (rate == running.rate) return;
  running.remaining = std::max(0.0, running.remaining - running.rate * to_seconds(now - running.since));
  running.since = now;
  for (const Demand& demand : running.demands()) {
    const auto r = static_cast<std::uint32_t>(demand.resource);
    states_[r].rate += demand.per_unit * (rate - running.rate);
    touch_rate(r);
  }
  running.rate = rate;
  const Duration duration = time_for(running.remaining, rate);
  running.completion = duration == Duration::max() ? duration : now + duration;
  ++running.generation;
  finishes_.push(running.completion, {running.serial, activity, running.generation});
}

void FluidNetwork::apply_unbound(Duration now, std::uint32_t activity) {
  const Running& running = running_[activity];
  const bool by_resource = running.highest_is_resource;
  set_rate(now, activity, running.highest, by_resource ? Cause::resource : running.cap_cause,
           by_resource ? running.highest_resource : ResourceId{});
}

void FluidNetwork::apply_component(Duration now, const Component& component) {
  for (std::uint32_t i = 0; i < component.activities.size(); ++i) {
    const std::uint32_t activity = component.activities[i];
    const Running& running = running_[activity];
    Cause cause = running.highest_is_resource ? Cause::resource : running.cap_cause;
    ResourceId resource = running.highest_is_resource ? running.highest_resource : ResourceId{};
    const std::uint32_t by = component.problem.frozen_by[i];
    if (by != MaxMinProblem::cap_bound) {
      cause = Cause::resource;
      resource = id_at<ResourceId>(component.resources[by]);
    }
    set_rate(now, activity, component.problem.rate[i], cause, resource);
  }
}

/// Gives every member its rate and every resource the sum of them.
void FluidNetwork::apply(Duration now) {
  if (members_.empty()) return;   // what was gathered is of an earlier instant
  for (const std::uint32_t activity : unbound_) apply_unbound(now, activity);
  for (std::size_t i = 0; i < component_count_; ++i) apply_component(now, components_[i]);
}

/// Peaks and the record of rates, once an instant.
void FluidNetwork::publish_rates(Duration now) {
  for (const std::uint32_t r : rate_touched_) {
    ResourceState& state = states_[r];
    state.rate_touched = false;
    if (state.users.empty()) state.rate = 0.0;
    use_[r].peak = std::max(use_[r].peak, state.rate);
    if (options_.record_rates) rate_changes_.push_back({now, id_at<ResourceId>(r), state.rate});
  }
  rate_touched_.clear();
}

}  // namespace takt
