// The rates of one instant: what can bind, which set is solved again, and what its members then do.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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

void FluidNetwork::solve_region(std::uint32_t region, Duration now) {
  Front& front = fronts_[region];
  if (front.is_idle()) return;
  Notice& notice = notices_[region];
  front.left.clear();
  front.left_seeds.clear();
  front.floor = std::min(front.floor, fronts_[regions()].floor);
  refresh_binding(front, now);
  solve_set(front, now);
  notice.has_left = !front.left.empty() || !front.left_seeds.empty();
  notice.floor = std::exchange(front.floor, std::numeric_limits<double>::infinity());
  if (front.stale) find_soonest(front);
}

void FluidNetwork::solve_rest(Duration now) {
  Front& rest = fronts_[regions()];
  for (Notice& notice : notices_) {
    rest.floor = std::min(rest.floor, std::exchange(notice.floor, std::numeric_limits<double>::infinity()));
  }
  refresh_binding(rest, now);
  take_what_regions_left(rest, now);
  solve_set(rest, now);
  if (rest.stale) find_soonest(rest);
  for (const std::uint32_t activity : rest.members) {
    if (Front& front = fronts_[running_[activity].region]; front.stale) find_soonest(front);
  }
  rest.floor = std::numeric_limits<double>::infinity();
  if (options_.record_rates) record_rates(now);
  next_serial_ += FlowSerial{fronts_.size()} << serial_bits;
}

/// What touched resources of regions put into the set although it belongs to no region, and what shares a resource with
/// such.
void FluidNetwork::take_what_regions_left(Front& rest, Duration now) {
  for (std::uint32_t region = 0; region < regions(); ++region) {
    if (!std::exchange(notices_[region].has_left, false)) continue;
    for (const std::uint32_t activity : fronts_[region].left_seeds) take_in(rest, now, activity);
    for (const std::uint32_t activity : fronts_[region].left) add_member(rest, activity);
  }
}

void FluidNetwork::solve_set(Front& front, Duration now) {
  if (front.members.empty()) return;
  for (int round = 1;; ++round) {
    const std::size_t size = front.members.size();
    gather_all(front);
    solve_all(front);
    for (std::size_t i = 0; i < front.component_count; ++i) widen(front, front.components[i]);
    if (front.members.size() == size) break;
    if (round == most_rounds) add_all_reachable(front);
  }
  apply(front, now);
}

std::uint32_t FluidNetwork::next_stamp(Front& front, std::size_t fronts) {
  return front.stamp += static_cast<std::uint32_t>(fronts);
}

/// Decides for each touched resource whether it can bind, and takes in the activities whose rates may change because of
/// that alone: the changed ones, those that a touched resource holds, and all users of one that begins to bind.
void FluidNetwork::refresh_binding(Front& front, Duration now) {
  front.set = next_stamp(front, fronts_.size());
  front.members.clear();
  front.seeds.clear();
  for (const std::uint32_t r : front.touched) refresh_binding_of(front, r);
  front.touched.clear();
  for (const std::uint32_t activity : front.seeds) {   // only now is the floor known
    if (running_[activity].region == front.region) take_in(front, now, activity);
    else front.left_seeds.push_back(activity);
  }
  for (const std::uint32_t activity : front.changed) {
    running_[activity].changed = false;
    if (running_[activity].live) take_in(front, now, activity);
  }
  front.changed.clear();
}

void FluidNetwork::refresh_binding_of(Front& front, std::uint32_t resource) {
  ResourceState& state = states_[resource];
  state.touched = false;
  const bool could_bind = state.can_bind;
  if (options_.prune) {
    double load = 0.0;
    for (const User& user : state.users) load += user.per_unit * running_[user.activity].highest;
    state.can_bind = state.users.size() > 1 && load > capacities_[resource] * (1.0 + rounding);
  }
  const bool begins_to_bind = state.can_bind && !could_bind;
  for (const User& user : state.users) {
    if (begins_to_bind || is_held_by(running_[user.activity], resource)) front.seeds.push_back(user.activity);
  }
  if (state.can_bind) front.floor = std::min(front.floor, level_of_new(resource));
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
    double left = capacities_[resource], demand = 0.0;
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
bool FluidNetwork::keeps_its_rate(const Front& front, const Running& running) {
  return running.rate > 0.0 && running.rate < front.floor * running.weight * (1.0 - 1e-9);
}

bool FluidNetwork::is_bound(const Running& running) const {
  const std::span<const Demand> demands = running.demands();
  return std::any_of(demands.begin(), demands.end(),
                     [this](const Demand& demand) { return states_[index(demand.resource)].can_bind; });
}

/// An activity whose rate may change. One that no resource binds gets its rate at once.
void FluidNetwork::take_in(Front& front, Duration now, std::uint32_t activity) {
  if (is_bound(running_[activity])) add_member(front, activity);
  else if (!keeps_its_rate(front, running_[activity])) apply_unbound(now, activity);
}

/// Takes an activity into the set that is solved, unless it is there or keeps its rate.
void FluidNetwork::add_member(Front& front, std::uint32_t activity) {
  Running& running = running_[activity];
  if (running.set == front.set || keeps_its_rate(front, running)) return;
  running.set = front.set;
  front.members.push_back(activity);
}

/// Adds all that is reachable over resources that can bind; of a region, within it.
void FluidNetwork::add_all_reachable(Front& front) {
  for (std::size_t head = 0; head < front.members.size(); ++head) {
    for (const Demand& demand : running_[front.members[head]].demands()) {
      ResourceState& state = states_[index(demand.resource)];
      if (!state.can_bind || state.set == front.set) continue;
      state.set = front.set;
      for (const User& user : state.users) {
        if (is_rest(front) || running_[user.activity].region == front.region) add_member(front, user.activity);
      }
    }
  }
}

/// The set's users of a resource join the component.
FluidNetwork::Gathered FluidNetwork::gather_users(const Front& front, std::uint32_t resource, Component& component) {
  const std::uint32_t set = front.set, stamp = front.stamp;
  const bool may_be_anywhere = is_rest(front);
  double left = capacities_[resource];
  bool shared = false, contained = true;
  for (const User& user : states_[resource].users) {
    Running& other = running_[user.activity];
    if (other.set != set) {
      left = std::max(0.0, left - user.per_unit * other.rate);
      shared = true;
      contained = contained && (may_be_anywhere || other.region == front.region);
    } else if (other.mark != stamp) {
      other.mark = stamp;
      component.activities.push_back(user.activity);
    }
  }
  if (shared) component.shared.push_back(static_cast<std::uint32_t>(component.resources.size()));
  return {left, contained};
}

/// Collects the component of `seed`, all members of the set that are reachable over resources that can bind, and writes
/// its problem. Whether it lies within the region: no resource of it has users that belong to none.
bool FluidNetwork::gather(Front& front, std::uint32_t seed, Component& component) {
  MaxMinProblem& problem = component.problem;
  problem.clear();
  component.activities.assign(1, seed);
  component.resources.clear();
  component.shared.clear();
  const std::uint32_t stamp = front.stamp;
  running_[seed].mark = stamp;
  bool contained = true;
  for (std::size_t head = 0; head < component.activities.size(); ++head) {
    const Running& running = running_[component.activities[head]];
    // What a resource of this very problem limits needs no cap of its own.
    const bool implied = running.highest_is_resource && states_[index(running.highest_resource)].can_bind;
    problem.begin_activity(running.weight, implied ? std::numeric_limits<double>::infinity() : running.highest);
    for (const Demand& demand : running.demands()) {
      const auto r = static_cast<std::uint32_t>(demand.resource);
      ResourceState& state = states_[r];
      if (!state.can_bind) continue;
      if (state.mark != stamp) {
        state.mark = stamp;
        const Gathered users = gather_users(front, r, component);
        contained = contained && users.contained;
        state.local = problem.add_resource(users.left);
        component.resources.push_back(r);
      }
      problem.add_use(state.local, demand.per_unit);
    }
  }
  return contained;
}

/// The components of the set, and, of a region, what does not lie within it.
void FluidNetwork::gather_all(Front& front) {
  next_stamp(front, fronts_.size());
  front.component_count = 0;
  front.left.clear();
  for (const std::uint32_t member : front.members) {
    if (running_[member].mark == front.stamp) continue;
    if (front.component_count == front.components.size()) front.components.emplace_back();
    Component& component = front.components[front.component_count];
    if (gather(front, member, component)) ++front.component_count;
    else front.left.insert(front.left.end(), component.activities.begin(), component.activities.end());
  }
}

void FluidNetwork::solve_all(Front& front) {
  const auto solve_one = [&front](std::size_t i) { front.components[i].problem.solve(); };
  const bool at_once = is_rest(front) && options_.executor != nullptr && front.component_count > 1 &&
                       front.members.size() >= parallel_grain;
  if (at_once) {
    options_.executor->for_each(front.component_count, solve_one);
  } else {
    for (std::size_t i = 0; i < front.component_count; ++i) solve_one(i);
  }
}

/// Adds the activities outside the set that the component's new rates do not leave in peace: those held by a resource
/// on which a rate has changed, and those above the level at which a resource now holds a member.
void FluidNetwork::widen(Front& front, const Component& component) {
  if (component.shared.empty()) return;
  front.edges.assign(component.resources.size(), {});
  for (std::uint32_t i = 0; i < component.activities.size(); ++i) {
    const Running& running = running_[component.activities[i]];
    const double rate = component.problem.rate[i];
    const std::uint32_t by = component.problem.frozen_by[i];
    if (by != MaxMinProblem::cap_bound) front.edges[by].level = rate / running.weight;
    if (is_same_rate(running.rate, rate)) continue;
    for (const Demand& demand : running.demands()) {
      const ResourceState& state = states_[index(demand.resource)];
      if (state.can_bind) front.edges[state.local].changed = true;
    }
  }
  for (const std::uint32_t local : component.shared) {
    const Edge& edge = front.edges[local];
    const std::uint32_t r = component.resources[local];
    for (const User& user : states_[r].users) {
      const Running& other = running_[user.activity];
      const bool is_above = other.rate > edge.level * other.weight * (1.0 + rounding);
      if (is_above || (edge.changed && is_held_by(other, r))) add_member(front, user.activity);
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
    note_rate(now, r);
    states_[r].rate += demand.per_unit * (rate - running.rate);
  }
  running.rate = rate;
  const Duration duration = time_for(running.remaining, rate);
  const Duration end = duration == Duration::max() ? duration : now + duration;
  ++running.generation;
  Front& front = fronts_[running.region];
  front.finishes.push(end, {running.serial, activity, running.generation});
  front.stale = true;
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
void FluidNetwork::apply(const Front& front, Duration now) {
  for (std::size_t i = 0; i < front.component_count; ++i) apply_component(now, front.components[i]);
}

void FluidNetwork::record_rates(Duration now) {
  for (Front& front : fronts_) {
    for (const std::uint32_t r : front.rate_touched) rate_changes_.push_back({now, id_at<ResourceId>(r), states_[r].rate});
    front.rate_touched.clear();
  }
}

}  // namespace takt
