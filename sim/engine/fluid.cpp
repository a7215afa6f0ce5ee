#include "engine/fluid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/contract.hpp"

namespace takt {

FluidNetwork::FluidNetwork(const ResourceTable& resources, FluidOptions options, Regions regions)
    : options_(options),
      states_(resources.size()),
      regions_(std::move(regions)),
      use_(resources.size()),
      fronts_(regions_.count + 1),
      notices_(fronts_.size()) {
  capacities_.reserve(resources.size());
  for (const Resource& resource : resources) capacities_.push_back(resource.capacity);
  for (std::uint32_t i = 0; i < fronts_.size(); ++i) fronts_[i].region = fronts_[i].stamp = i;
  if (!options_.prune) {
    for (ResourceState& state : states_) state.can_bind = true;
  }
}

std::uint32_t FluidNetwork::region_of(std::span<const Demand> demands) const {
  if (regions() == 0 || demands.empty()) return regions();
  const std::uint32_t region = regions_.of_resource[index(demands.front().resource)];
  const auto is_outside = [&](const Demand& demand) { return regions_.of_resource[index(demand.resource)] != region; };
  return std::any_of(demands.begin(), demands.end(), is_outside) ? regions() : region;
}

void FluidNetwork::touch(std::uint32_t resource) {
  if (states_[resource].touched) return;
  states_[resource].touched = true;
  front_of(resource).touched.push_back(resource);
}

void FluidNetwork::set_highest(Running& running) const {
  running.highest = running.cap;
  running.highest_is_resource = false;
  for (const Demand& demand : running.demands()) {
    const double limit = capacities_[index(demand.resource)] / demand.per_unit;
    if (limit < running.highest) {
      running.highest = limit;
      running.highest_is_resource = true;
      running.highest_resource = demand.resource;
    }
  }
}

void FluidNetwork::reserve(std::uint32_t region, std::size_t count) {
  std::vector<std::uint32_t>& free = fronts_[region].free;
  if (free.size() >= count) return;
  const std::size_t missing = count - free.size();
  const auto first = static_cast<std::uint32_t>(running_.size());
  running_.resize(running_.size() + missing);
  for (std::size_t i = missing; i-- > 0;) free.push_back(first + static_cast<std::uint32_t>(i));
}

RunningId FluidNetwork::start(Duration now, const Flow& flow) {
  const std::uint32_t region = region_of(flow.demands);
  reserve(region, 1);
  const std::uint32_t slot = fronts_[region].free.back();
  start_in(region, now, flow, next_serial_++);
  return static_cast<RunningId>(slot);
}

void FluidNetwork::start_in(std::uint32_t region, Duration now, const Flow& flow, FlowSerial serial) {
  expects(flow.work > 0.0 && flow.cap > 0.0 && flow.weight > 0.0, "an activity needs positive work, cap and weight");
  Front& front = fronts_[region];
  const std::uint32_t slot = front.free.back();
  front.free.pop_back();
  Running& running = running_[slot];
  running.work = running.remaining = flow.work;
  running.rate = 0.0;
  running.cap = flow.cap;
  running.weight = flow.weight;
  running.payload = flow.payload;
  running.alone = flow.alone;
  running.since = running.cause_since = now;
  running.owner = flow.owner;
  running.serial = serial;
  running.region = region;
  running.cap_cause = flow.cap_cause;
  running.cause = Cause::none;
  running.live = running.changed = true;
  running.demand_count = static_cast<std::uint32_t>(flow.demands.size());
  running.several_demands = flow.demands.size() > 1 ? flow.demands.data() : nullptr;
  if (flow.demands.size() == 1) running.only_demand = flow.demands.front();
  running.positions.resize(flow.demands.size());
  running.charges.clear();
  set_highest(running);
  expects(std::isfinite(running.highest), "an activity without a cap needs a resource");
  attach(now, slot);
  front.changed.push_back(slot);
}

void FluidNetwork::set_cap(RunningId id, double cap, Cause cap_cause) {
  const auto slot = static_cast<std::uint32_t>(id);
  Running& running = running_[slot];
  if (running.cap == cap && running.cap_cause == cap_cause) return;
  if (running.rate > 0.0) {
    double& floor = fronts_[running.region].floor;
    floor = std::min(floor, std::min(running.rate, cap) / running.weight);
  }
  running.cap = cap;
  running.cap_cause = cap_cause;
  set_highest(running);
  for (const Demand& demand : running.demands()) touch(static_cast<std::uint32_t>(demand.resource));
  if (!running.changed) fronts_[running.region].changed.push_back(slot);
  running.changed = true;
}

/// Puts a new activity on its resources. One that has a resource for itself is not bound by it.
void FluidNetwork::attach(Duration now, std::uint32_t activity) {
  Running& running = running_[activity];
  const std::span<const Demand> demands = running.demands();
  for (std::uint32_t d = 0; d < demands.size(); ++d) {
    const auto r = static_cast<std::uint32_t>(demands[d].resource);
    ResourceState& state = states_[r];
    if (state.users.empty()) state.busy_since = now;
    running.positions[d] = static_cast<std::uint32_t>(state.users.size());
    state.users.push_back({activity, d, demands[d].per_unit});
    if (state.users.size() > 1 || !options_.prune) touch(r);
  }
}

/// Takes a completed activity off its resources. Whether it leaves others there, whose rates may change.
bool FluidNetwork::detach(Duration now, std::uint32_t activity) {
  const Running& running = running_[activity];
  const std::span<const Demand> demands = running.demands();
  bool leaves_others = false;
  for (std::uint32_t d = 0; d < demands.size(); ++d) {
    const auto r = static_cast<std::uint32_t>(demands[d].resource);
    ResourceState& state = states_[r];
    use_[r].moved += running.work * running.payload * demands[d].per_unit;
    note_rate(now, r);
    state.rate -= demands[d].per_unit * running.rate;
    const User last = state.users.back();
    state.users[running.positions[d]] = last;
    running_[last.activity].positions[last.demand] = running.positions[d];
    state.users.pop_back();
    if (state.users.empty()) {
      state.rate = 0.0;
      state.can_bind = !options_.prune;
      use_[r].busy += now - state.busy_since;
    } else {
      leaves_others = true;
      touch(r);
    }
  }
  return leaves_others;
}

/// Charges the time since the cause or the rate last changed.
void FluidNetwork::close_charge(Duration now, Running& running) {
  Duration time = now - running.cause_since;
  running.cause_since = now;
  if (time <= Duration{}) return;
  const auto add = [&list = running.charges](Cause cause, ResourceId resource, Duration share) {
    if (!list.empty() && list.back().cause == cause && list.back().resource == resource) list.back().time += share;
    else list.push_back({cause, resource, share});
  };
  if (running.alone > 0.0 && running.cause != Cause::own_speed) {
    const Duration own(std::llround(static_cast<double>(time.count()) * running.rate / running.alone));
    if (own > Duration{}) add(Cause::own_speed, {}, std::min(time, own));
    time -= std::min(time, own);
  }
  if (time > Duration{}) add(running.cause, running.cause_resource, time);
}

Duration FluidNetwork::next_completion() const {
  Duration next = Duration::max();
  for (const Notice& notice : notices_) next = std::min(next, notice.soonest);
  return next;
}

bool FluidNetwork::is_idle() const {
  return std::all_of(fronts_.begin(), fronts_.end(), [](const Front& front) { return front.is_idle(); });
}

std::size_t FluidNetwork::soonest_count() const {
  const Duration next = next_completion();
  std::size_t count = 0;
  for (std::uint32_t region = 0; region < regions(); ++region) {
    count += notices_[region].soonest == next ? notices_[region].count : 0;
  }
  return count;
}

void FluidNetwork::find_soonest(Front& front) {
  Notice& notice = notices_[front.region];
  notice.soonest = front.finishes.next([this](const Finish& finish) { return holds(finish); });
  notice.count = front.finishes.soonest_count();
  front.stale = false;
}

void FluidNetwork::take_due(Front& front, Duration now) {
  front.due.clear();
  front.finishes.take(now, [this](const Finish& finish) { return holds(finish); }, front.due);
  const auto earlier = [](const Finish& a, const Finish& b) { return a.serial < b.serial; };
  if (!std::is_sorted(front.due.begin(), front.due.end(), earlier)) {
    std::sort(front.due.begin(), front.due.end(), earlier);
  }
}

void FluidNetwork::end(Front& front, Duration now, std::uint32_t activity) {
  Running& running = running_[activity];
  if (detach(now, activity)) front.floor = std::min(front.floor, running.rate / running.weight);
  running.live = false;
  ++running.generation;
  front.free.push_back(activity);
}

const std::vector<ResourceUse>& FluidNetwork::use(Duration end) {
  for (std::size_t r = 0; r < states_.size(); ++r) {
    use_[r].peak = std::max(use_[r].peak, states_[r].rate);
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
