#include "engine/fluid.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/contract.hpp"

namespace takt {
namespace {

/// Capacities are given to about 1e-3; a resource whose highest possible load passes its capacity by less than this
/// relative rounding error cannot bind.
constexpr double rounding = 1e-12;

/// Rounds in which the set that is solved grows by what its new rates touch; then it takes all that is reachable.
constexpr int most_rounds = 8;

/// Solved again with other numbers, a rate that does not change comes out equal but for rounding.
bool is_same_rate(double before, double after) { return std::abs(after - before) <= rounding * before; }

/// Components below this many activities are not worth a thread.
constexpr std::size_t parallel_grain = 256;

/// Time to do `work` at `rate` from now, rounded up to a picosecond; a part in 1e15 of rounding noise does not count.
Duration time_for(double work, double rate) {
  const double picoseconds = std::ceil(work / rate * picoseconds_per_second * (1.0 - 1e-15));
  if (!(picoseconds < 9e18)) return Duration::max();
  return Duration(static_cast<std::int64_t>(picoseconds));
}

}  // namespace

FluidNetwork::FluidNetwork(const ResourceTable& resources, FluidOptions options)
    : table_(resources), options_(options), states_(resources.size()), use_(resources.size()) {
  if (!options_.prune) {
    for (ResourceState& state : states_) state.can_bind = true;
  }
}

void FluidNetwork::touch(std::uint32_t resource) {
  if (states_[resource].touched) return;
  states_[resource].touched = true;
  touched_.push_back(resource);
}

void FluidNetwork::mark_changed(std::uint32_t activity) {
  if (running_[activity].changed) return;
  running_[activity].changed = true;
  changed_.push_back(activity);
}

void FluidNetwork::set_highest(Running& running) {
  running.highest = running.cap;
  running.highest_is_resource = false;
  for (const Demand& demand : running.demands) {
    const double limit = table_[index(demand.resource)].capacity / demand.per_unit;
    if (limit < running.highest) {
      running.highest = limit;
      running.highest_is_resource = true;
      running.highest_resource = demand.resource;
    }
  }
}

RunningId FluidNetwork::start(Duration now, const Flow& flow) {
  expects(flow.work > 0.0 && flow.cap > 0.0 && flow.weight > 0.0, "an activity needs positive work, cap and weight");
  std::uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(running_.size());
    running_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Running& running = running_[slot];
  running.work = running.remaining = flow.work;
  running.rate = 0.0;
  running.cap = flow.cap;
  running.weight = flow.weight;
  running.payload = flow.payload;
  running.alone = flow.alone;
  running.since = running.cause_since = now;
  running.completion = Duration::max();
  running.owner = flow.owner;
  running.serial = next_serial_++;
  running.cap_cause = Cause::own_speed;
  running.cause = Cause::none;
  running.live = true;
  running.changed = false;
  running.demands.assign(flow.demands.begin(), flow.demands.end());
  running.positions.resize(flow.demands.size());
  running.charges.clear();
  set_highest(running);
  expects(std::isfinite(running.highest), "an activity without a cap needs a resource");
  for (std::uint32_t d = 0; d < flow.demands.size(); ++d) {
    const auto resource = static_cast<std::uint32_t>(flow.demands[d].resource);
    ResourceState& state = states_[resource];
    if (state.users.empty()) state.busy_since = now;
    running.positions[d] = static_cast<std::uint32_t>(state.users.size());
    state.users.push_back({slot, d});
    touch(resource);
  }
  mark_changed(slot);
  return static_cast<RunningId>(slot);
}

void FluidNetwork::set_cap(Duration, RunningId id, double cap, Cause cap_cause) {
  const auto slot = static_cast<std::uint32_t>(id);
  Running& running = running_[slot];
  if (running.cap == cap && running.cap_cause == cap_cause) return;
  if (running.rate > 0.0) floor_ = std::min(floor_, std::min(running.rate, cap) / running.weight);
  running.cap = cap;
  running.cap_cause = cap_cause;
  set_highest(running);
  for (const Demand& demand : running.demands) touch(static_cast<std::uint32_t>(demand.resource));
  mark_changed(slot);
}

/// Decides for each touched resource whether it can bind, and collects the activities whose rates may change because of
/// that alone: the changed ones, those that a touched resource holds, and all users of one that begins to bind.
void FluidNetwork::refresh_binding() {
  seeds_.clear();
  for (const std::uint32_t r : touched_) {
    ResourceState& state = states_[r];
    state.touched = false;
    const bool could_bind = state.can_bind;
    if (options_.prune) {
      double load = 0.0;
      for (const User& user : state.users) {
        load += running_[user.activity].demands[user.demand].per_unit * running_[user.activity].highest;
      }
      state.can_bind = load > table_[r].capacity * (1.0 + rounding);
    }
    const bool begins_to_bind = state.can_bind && !could_bind;
    for (const User& user : state.users) {
      if (begins_to_bind || is_held_by(running_[user.activity], r)) seeds_.push_back(user.activity);
    }
    if (state.can_bind) lower_floor_for_new(r);
  }
  touched_.clear();
  for (const std::uint32_t activity : changed_) {
    running_[activity].changed = false;
    if (running_[activity].live) seeds_.push_back(activity);
  }
  changed_.clear();
}

bool FluidNetwork::is_held_by(const Running& running, std::uint32_t resource) {
  return running.cause == Cause::resource && index(running.cause_resource) == resource;
}

/// Lowers the floor to the level at which a resource with new activities fills, or a bit below: with the others at their
/// present phi where that is lower, at a common level l where not,   sum of d w min(phi, l) = C.   The iteration
/// approaches l from below.
void FluidNetwork::lower_floor_for_new(std::uint32_t resource) {
  const ResourceState& state = states_[resource];
  const auto is_new = [&](const User& user) { return running_[user.activity].rate == 0.0; };
  if (std::none_of(state.users.begin(), state.users.end(), is_new)) return;
  double level = 0.0;
  constexpr int rounds = 3;
  for (int round = 0; round < rounds; ++round) {
    double left = table_[resource].capacity, demand = 0.0;
    for (const User& user : state.users) {
      const Running& running = running_[user.activity];
      const double per_unit = running.demands[user.demand].per_unit;
      if (running.rate > 0.0 && running.rate < level * running.weight) left -= per_unit * running.rate;
      else demand += per_unit * running.weight;
    }
    level = std::max(level, left / demand);
  }
  floor_ = std::min(floor_, level);
}

/// Strictly below the floor, with room for rounding: ties are solved again.
bool FluidNetwork::keeps_its_rate(const Running& running) const {
  return running.rate > 0.0 && running.rate < floor_ * running.weight * (1.0 - 1e-9);
}

/// Takes an activity into the set that is solved, unless it is there or keeps its rate.
void FluidNetwork::add_member(std::uint32_t activity) {
  Running& running = running_[activity];
  if (running.set == set_ || keeps_its_rate(running)) return;
  running.set = set_;
  members_.push_back(activity);
}

/// Collects the component of `seed`: all members of the set that are reachable over resources that can bind. Activities
/// outside the set leave what they do not use.
void FluidNetwork::gather(std::uint32_t seed, Component& component) {
  component.activities.assign(1, seed);
  component.resources.clear();
  running_[seed].mark = mark_;
  for (std::size_t head = 0; head < component.activities.size(); ++head) {
    for (const Demand& demand : running_[component.activities[head]].demands) {
      const auto r = static_cast<std::uint32_t>(demand.resource);
      ResourceState& state = states_[r];
      if (!state.can_bind || state.mark == mark_) continue;
      state.mark = mark_;
      state.local = static_cast<std::uint32_t>(component.resources.size());
      state.left = table_[r].capacity;
      component.resources.push_back(r);
      for (const User& user : state.users) {
        Running& other = running_[user.activity];
        if (other.set != set_) {
          state.left = std::max(0.0, state.left - other.demands[user.demand].per_unit * other.rate);
        } else if (other.mark != mark_) {
          other.mark = mark_;
          component.activities.push_back(user.activity);
        }
      }
    }
  }
}

/// The components of the set; their number.
std::size_t FluidNetwork::gather_all() {
  ++mark_;
  std::size_t count = 0;
  for (const std::uint32_t member : members_) {
    if (running_[member].mark == mark_) continue;
    if (count == components_.size()) components_.emplace_back();
    gather(member, components_[count++]);
  }
  return count;
}

/// Adds the activities outside the set that the component's new rates do not leave in peace: those held by a resource
/// on which a rate has changed, and those above the level at which a resource now holds a member.
void FluidNetwork::widen(const Component& component) {
  if (component.resources.empty()) return;
  edges_.assign(component.resources.size(), {});
  for (std::uint32_t i = 0; i < component.activities.size(); ++i) {
    const Running& running = running_[component.activities[i]];
    const double rate = component.problem.rate[i];
    const std::uint32_t by = component.problem.frozen_by[i];
    if (by != MaxMinProblem::cap_bound) edges_[by].level = rate / running.weight;
    if (is_same_rate(running.rate, rate)) continue;
    for (const Demand& demand : running.demands) {
      const ResourceState& state = states_[index(demand.resource)];
      if (state.can_bind) edges_[state.local].changed = true;
    }
  }
  for (std::size_t local = 0; local < edges_.size(); ++local) {
    const Edge& edge = edges_[local];
    const std::uint32_t r = component.resources[local];
    for (const User& user : states_[r].users) {
      const Running& other = running_[user.activity];
      const bool is_above = other.rate > edge.level * other.weight * (1.0 + rounding);
      if (is_above || (edge.changed && is_held_by(other, r))) add_member(user.activity);
    }
  }
}

/// Adds all that is reachable over resources that can bind.
void FluidNetwork::add_all_reachable() {
  for (std::size_t head = 0; head < members_.size(); ++head) {
    for (const Demand& demand : running_[members_[head]].demands) {
      ResourceState& state = states_[index(demand.resource)];
      if (!state.can_bind || state.set == set_) continue;
      state.set = set_;
      for (const User& user : state.users) add_member(user.activity);
    }
  }
}

void FluidNetwork::solve_component(Component& component) const {
  MaxMinProblem& problem = component.problem;
  problem.clear();
  for (const std::uint32_t r : component.resources) problem.add_resource(states_[r].left);
  for (const std::uint32_t activity : component.activities) {
    const Running& running = running_[activity];
    // What a resource of this very problem limits needs no cap of its own.
    const bool implied = running.highest_is_resource && states_[index(running.highest_resource)].can_bind;
    problem.begin_activity(running.weight, implied ? std::numeric_limits<double>::infinity() : running.highest);
    for (const Demand& demand : running.demands) {
      const ResourceState& state = states_[index(demand.resource)];
      if (state.can_bind) problem.add_use(state.local, demand.per_unit);
    }
  }
  problem.solve();
}

/// Charges the time since the cause or the rate last changed.
void FluidNetwork::close_charge(Duration now, Running& running) {
  const Duration time = now - running.cause_since;
  running.cause_since = now;
  if (time <= Duration{}) return;
  const auto add = [&](Cause cause, ResourceId resource, Duration share) {
    if (share <= Duration{}) return;
    auto& list = running.charges;
    if (!list.empty() && list.back().cause == cause && list.back().resource == resource) list.back().time += share;
    else list.push_back({cause, resource, share});
  };
  Duration own{};
  if (running.alone > 0.0 && running.cause != Cause::own_speed) {
    own = std::min(time, Duration(std::llround(static_cast<double>(time.count()) * running.rate / running.alone)));
  }
  add(Cause::own_speed, {}, own);
  add(running.cause, running.cause_resource, time - own);
}

void FluidNetwork::set_rate(Duration now, std::uint32_t activity, double rate, Cause cause, ResourceId resource) {
  Running& running = running_[activity];
  const bool same_cause = running.cause == cause && (cause != Cause::resource || running.cause_resource == resource);
  if (!same_cause || (running.alone > 0.0 && rate != running.rate)) close_charge(now, running);
  if (!same_cause) {
    running.cause = cause;
    running.cause_resource = resource;
  }
  if (rate == running.rate) return;
  running.remaining = std::max(0.0, running.remaining - running.rate * to_seconds(now - running.since));
  running.since = now;
  for (const Demand& demand : running.demands) {
    const auto r = static_cast<std::uint32_t>(demand.resource);
    ResourceState& state = states_[r];
    state.rate += demand.per_unit * (rate - running.rate);
    if (!state.rate_touched) {
      state.rate_touched = true;
      rate_touched_.push_back(r);
    }
  }
  running.rate = rate;
  const Duration duration = time_for(running.remaining, rate);
  running.completion = duration == Duration::max() ? duration : now + duration;
  ++running.generation;
  push_finish({running.completion, running.serial, activity, running.generation});
}

void FluidNetwork::apply(Duration now, const Component& component) {
  for (std::uint32_t i = 0; i < component.activities.size(); ++i) {
    const std::uint32_t activity = component.activities[i];
    const Running& running = running_[activity];
    double rate = running.highest;
    Cause cause = running.highest_is_resource ? Cause::resource : running.cap_cause;
    ResourceId resource = running.highest_is_resource ? running.highest_resource : ResourceId{};
    if (!component.resources.empty()) {
      rate = component.problem.rate[i];
      const std::uint32_t by = component.problem.frozen_by[i];
      if (by != MaxMinProblem::cap_bound) {
        cause = Cause::resource;
        resource = id_at<ResourceId>(component.resources[by]);
      }
    }
    set_rate(now, activity, is_same_rate(running.rate, rate) ? running.rate : rate, cause, resource);
  }
}

void FluidNetwork::solve_all(std::size_t count) {
  const auto solve_one = [this](std::size_t i) {
    if (!components_[i].resources.empty()) solve_component(components_[i]);
  };
  if (options_.executor != nullptr && count > 1 && members_.size() >= parallel_grain) {
    options_.executor->for_each(count, solve_one);
  } else {
    for (std::size_t i = 0; i < count; ++i) solve_one(i);
  }
}

void FluidNetwork::solve(Duration now) {
  if (!touched_.empty() || !changed_.empty()) {
    refresh_binding();
    ++set_;
    members_.clear();
    for (const std::uint32_t seed : seeds_) add_member(seed);
    std::size_t count = 0;
    for (int round = 1;; ++round) {
      const std::size_t size = members_.size();
      count = gather_all();
      solve_all(count);
      for (std::size_t i = 0; i < count; ++i) widen(components_[i]);
      if (members_.size() == size) break;
      if (round == most_rounds) add_all_reachable();
    }
    for (std::size_t i = 0; i < count; ++i) apply(now, components_[i]);
    floor_ = std::numeric_limits<double>::infinity();
  }
  publish_rates(now);
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

void FluidNetwork::push_finish(const Finish& finish) {
  finishes_.push_back(finish);
  std::push_heap(finishes_.begin(), finishes_.end(), std::greater<>{});
}

void FluidNetwork::drop_stale() {
  while (!finishes_.empty()) {
    const Finish& top = finishes_.front();
    const Running& running = running_[top.activity];
    if (running.live && running.generation == top.generation) return;
    std::pop_heap(finishes_.begin(), finishes_.end(), std::greater<>{});
    finishes_.pop_back();
  }
}

Duration FluidNetwork::next_completion() {
  drop_stale();
  return finishes_.empty() ? Duration::max() : finishes_.front().time;
}

/// Takes a completed activity off its resources.
void FluidNetwork::detach(Duration now, std::uint32_t activity) {
  Running& running = running_[activity];
  floor_ = std::min(floor_, running.rate / running.weight);
  for (std::uint32_t d = 0; d < running.demands.size(); ++d) {
    const Demand& demand = running.demands[d];
    const auto r = static_cast<std::uint32_t>(demand.resource);
    ResourceState& state = states_[r];
    use_[r].moved += running.work * running.payload * demand.per_unit;
    state.rate -= demand.per_unit * running.rate;
    if (!state.rate_touched) {
      state.rate_touched = true;
      rate_touched_.push_back(r);
    }
    const User last = state.users.back();
    state.users[running.positions[d]] = last;
    running_[last.activity].positions[last.demand] = running.positions[d];
    state.users.pop_back();
    if (state.users.empty()) use_[r].busy += now - state.busy_since;
    touch(r);
  }
  running.live = false;
  ++running.generation;
  free_.push_back(activity);
}

std::size_t FluidNetwork::complete(Duration now, std::vector<Completed>& out) {
  std::size_t count = 0;
  for (drop_stale(); !finishes_.empty() && finishes_.front().time <= now; drop_stale()) {
    const std::uint32_t activity = finishes_.front().activity;
    Running& running = running_[activity];
    close_charge(now, running);
    if (count == out.size()) out.emplace_back();
    out[count].owner = running.owner;
    std::swap(out[count].charges, running.charges);
    ++count;
    detach(now, activity);
  }
  return count;
}

const std::vector<ResourceUse>& FluidNetwork::use(Duration end) {
  for (std::size_t r = 0; r < states_.size(); ++r) {
    if (states_[r].users.empty()) continue;
    use_[r].busy += end - states_[r].busy_since;
    states_[r].busy_since = end;
  }
  return use_;
}

void FluidNetwork::restart_use(Duration now) {
  for (std::size_t r = 0; r < states_.size(); ++r) {
    use_[r] = {0.0, {}, states_[r].rate};
    states_[r].busy_since = now;
  }
  for (const Running& running : running_) {   // it will count as a whole when it completes
    if (!running.live) continue;
    const double done = running.work - running.remaining + running.rate * to_seconds(now - running.since);
    for (const Demand& demand : running.demands) use_[index(demand.resource)].moved -= done * running.payload * demand.per_unit;
  }
}

}  // namespace takt
