#include "engine/fluid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/contract.hpp"

namespace takt {

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

void FluidNetwork::touch_rate(std::uint32_t resource) {
  if (states_[resource].rate_touched) return;
  states_[resource].rate_touched = true;
  rate_touched_.push_back(resource);
}

void FluidNetwork::mark_changed(std::uint32_t activity) {
  if (running_[activity].changed) return;
  running_[activity].changed = true;
  changed_.push_back(activity);
}

void FluidNetwork::set_highest(Running& running) const {
  running.highest = running.cap;
  running.highest_is_resource = false;
  for (const Demand& demand : running.demands()) {
    const double limit = table_[index(demand.resource)].capacity / demand.per_unit;
    if (limit < running.highest) {
      running.highest = limit;
      running.highest_is_resource = true;
      running.highest_resource = demand.resource;
    }
  }
}

std::uint32_t FluidNetwork::new_slot() {
  if (free_.empty()) {
    running_.emplace_back();
    return static_cast<std::uint32_t>(running_.size() - 1);
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

RunningId FluidNetwork::start(Duration now, const Flow& flow) {
  expects(flow.work > 0.0 && flow.cap > 0.0 && flow.weight > 0.0, "an activity needs positive work, cap and weight");
  const std::uint32_t slot = new_slot();
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
  running.cap_cause = flow.cap_cause;
  running.cause = Cause::none;
  running.live = true;
  running.changed = false;
  running.demand_count = static_cast<std::uint32_t>(flow.demands.size());
  running.several_demands = flow.demands.size() > 1 ? flow.demands.data() : nullptr;
  if (flow.demands.size() == 1) running.only_demand = flow.demands.front();
  running.positions.resize(flow.demands.size());
  running.charges.clear();
  set_highest(running);
  expects(std::isfinite(running.highest), "an activity without a cap needs a resource");
  attach(now, slot);
  mark_changed(slot);
  return static_cast<RunningId>(slot);
}

void FluidNetwork::set_cap(RunningId id, double cap, Cause cap_cause) {
  const auto slot = static_cast<std::uint32_t>(id);
  Running& running = running_[slot];
  if (running.cap == cap && running.cap_cause == cap_cause) return;
  if (running.rate > 0.0) floor_ = std::min(floor_, std::min(running.rate, cap) / running.weight);
  running.cap = cap;
  running.cap_cause = cap_cause;
  set_highest(running);
  for (const Demand& demand : running.demands()) touch(static_cast<std::uint32_t>(demand.resource));
  mark_changed(slot);
}

void FluidNetwork::attach(Duration now, std::uint32_t activity) {
  Running& running = running_[activity];
  const std::span<const Demand> demands = running.demands();
  for (std::uint32_t d = 0; d < demands.size(); ++d) {
    const auto r = static_cast<std::uint32_t>(demands[d].resource);
    ResourceState& state = states_[r];
    if (state.users.empty()) state.busy_since = now;
    running.positions[d] = static_cast<std::uint32_t>(state.users.size());
    state.users.push_back({activity, d, demands[d].per_unit});
    touch(r);
  }
}

/// Takes a completed activity off its resources.
void FluidNetwork::detach(Duration now, std::uint32_t activity) {
  const Running& running = running_[activity];
  const std::span<const Demand> demands = running.demands();
  for (std::uint32_t d = 0; d < demands.size(); ++d) {
    const auto r = static_cast<std::uint32_t>(demands[d].resource);
    ResourceState& state = states_[r];
    use_[r].moved += running.work * running.payload * demands[d].per_unit;
    state.rate -= demands[d].per_unit * running.rate;
    const User last = state.users.back();
    state.users[running.positions[d]] = last;
    running_[last.activity].positions[last.demand] = running.positions[d];
    state.users.pop_back();
    if (state.users.empty()) use_[r].busy += now - state.busy_since;
    touch_rate(r);
    touch(r);
  }
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

Duration FluidNetwork::next_completion() {
  return finishes_.next([this](const Finish& finish) { return holds(finish); });
}

std::size_t FluidNetwork::complete(Duration now, std::vector<Completed>& out) {
  due_.clear();
  finishes_.take(now, [this](const Finish& finish) { return holds(finish); }, due_);
  std::sort(due_.begin(), due_.end(), [](const Finish& a, const Finish& b) { return a.serial < b.serial; });
  if (out.size() < due_.size()) out.resize(due_.size());
  for (std::size_t i = 0; i < due_.size(); ++i) {
    const std::uint32_t activity = due_[i].activity;
    Running& running = running_[activity];
    close_charge(now, running);
    out[i].owner = running.owner;
    std::swap(out[i].charges, running.charges);
    floor_ = std::min(floor_, running.rate / running.weight);
    detach(now, activity);
    running.live = false;
    ++running.generation;
    free_.push_back(activity);
  }
  return due_.size();
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
    for (const Demand& demand : running.demands()) {
      use_[index(demand.resource)].moved -= done * running.payload * demand.per_unit;
    }
  }
}

}  // namespace takt
