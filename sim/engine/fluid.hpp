// Running activities and their rates, re-solved where something changed.
//
// The set of running activities and the resources that can bind form a bipartite graph; its connected components are
// independent. A resource cannot bind if the sum of d(a, r) xmax(a) over its activities stays within its capacity, where
// xmax(a) = min(cap, min over r of C(r) / d(a, r)) is the most that a could ever run at: such a resource joins no
// component. Two cards' kernels beside one pipelined ring are then often a component of a few activities, or none at
// all: an activity without a binding resource runs at xmax.
//
// All changes of one instant are told first (start, set_cap, completions), then solving brings every changed component
// up to date once. Progress is kept lazily: an activity's remaining work is touched only when its rate changes.
//
// A component is not solved as a whole either. The set that is solved begins with what changed and with what the touched
// resources hold; everything else keeps its rate and leaves the rest of each resource. If the answer disturbs somebody
// outside (a resource that holds it has a new rate on it, or holds a member at a lower level), the set takes it in and is
// solved again. When nobody is disturbed, every activity is still held by a full resource on which none is above it, or by
// its cap: that is what makes rates max-min fair, and there is only one such answer.
//
// A change leaves everything below its level as it was. Filling raises one phi for all, so up to the level at which an
// activity that left was frozen, and up to the level at which the first resource of a new one fills, filling goes as it
// went before. Activities frozen below the lowest such level (`floor`) keep their rates; only the rest is solved again,
// on what they leave.
//
// A large network is divided into regions (see regions.hpp), and what lies in one region alone belongs to it. Within an
// instant regions are brought up to date each by itself, on as many threads as there are: what completes or starts in
// one, its binding resources and its components. What lies in several regions belongs to none; it is told before the
// regions are solved and solved after them, along with the components that share a resource with it. Whether threads are
// used changes nothing of this, so that answers are equal on any number of them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "collective/activity.hpp"
#include "engine/executor.hpp"
#include "engine/instant_queue.hpp"
#include "engine/max_min.hpp"
#include "engine/regions.hpp"
#include "engine/timeline.hpp"
#include "topology/resource.hpp"

namespace takt {

enum class RunningId : std::uint32_t {};   ///< an activity while it runs; reused after it has completed

/// Flows that start at one instant get numbers in an order that does not depend on who starts them.
using FlowSerial = std::uint64_t;

struct FluidOptions {
  Executor* executor = nullptr;
  bool prune = true;
  bool record_rates = false;
};

class FluidNetwork {
 public:
  FluidNetwork(const ResourceTable& resources, FluidOptions options, Regions regions = {});

  /// What runs: see Activity. `owner` is handed back by complete().
  struct Flow {
    double work = 0.0, cap = 0.0, weight = 1.0, payload = 1.0;
    Cause cap_cause = Cause::own_speed;   ///< what its time is charged to while its cap holds it
    /// The rate at which it would run alone, if its time is to be split: a kernel at 0.8 of its own speed is charged 0.8
    /// of the time to itself and 0.2 to what slows it. 0: all time goes to what holds its rate.
    double alone = 0.0;
    std::span<const Demand> demands;   ///< one is copied; several must stay where they are while it runs
    std::uint64_t owner = 0;
  };
  /// Starts an activity.
  RunningId start(Duration now, const Flow& flow);
  void set_cap(RunningId id, double cap, Cause cap_cause);

  /// The next instant at which an activity completes, or earlier; Duration::max() if none.
  Duration next_completion() const;
  /// How many complete then in regions, or a few more.
  std::size_t soonest_count() const;
  /// Whether nothing has changed at this instant that a rate may depend on.
  bool is_idle() const;

  // Regions. Calls for different regions may be made at once, while nothing else is called.

  /// How many regions there are: 0 if it is not divided. As a region's number it means what lies in several, or in none.
  std::uint32_t regions() const { return regions_.count; }
  /// The region in which these demands lie.
  std::uint32_t region_of(std::span<const Demand> demands) const;
  /// Makes room for so many starts. Not while other regions are told anything.
  void reserve(std::uint32_t region, std::size_t count);
  /// The first of 2^28 numbers for what a region starts at this instant.
  FlowSerial serials_of(std::uint32_t region) const { return next_serial_ + (FlowSerial{region} << serial_bits); }
  void start_in(std::uint32_t region, Duration now, const Flow& flow, FlowSerial serial);
  /// Ends every activity of the region whose completion time is `now`, in the order they were started. Of each it calls
  /// ended(serial, owner, charges): charges add up to the time it ran, and may be swapped for others.
  template <class Ended>
  void complete(std::uint32_t region, Duration now, Ended ended);
  /// Solves again what changed in a region, as far as it lies within it. When all changes of the instant are told.
  void solve_region(std::uint32_t region, Duration now);
  /// Solves again what else changed. When all regions are solved.
  void solve_rest(Duration now);

  const std::vector<ResourceUse>& use(Duration end);  ///< of each resource, up to `end`
  void restart_use(Duration now);                     ///< forgets what resources did before `now`
  std::vector<RateChange> take_rate_changes() { return std::move(rate_changes_); }

 private:
  struct Running {
    double work = 0.0, remaining = 0.0, rate = 0.0, cap = 0.0, highest = 0.0, weight = 1.0,
           payload = 1.0, alone = 0.0;
    Duration since{}, cause_since{};
    std::uint64_t owner = 0;
    FlowSerial serial = 0;
    std::uint32_t generation = 0, mark = 0, set = 0, region = 0;
    Cause cap_cause = Cause::own_speed, cause = Cause::none;
    bool highest_is_resource = false, live = false, changed = false;
    ResourceId cause_resource{}, highest_resource{};
    Demand only_demand;
    const Demand* several_demands = nullptr;  // null: at most one
    std::uint32_t demand_count = 0;
    std::vector<std::uint32_t> positions;     // of its entries in the resources' user lists
    std::vector<Charge> charges;

    std::span<const Demand> demands() const {
      return {several_demands == nullptr ? &only_demand : several_demands, demand_count};
    }
  };
  struct User {
    std::uint32_t activity = 0, demand = 0;
    double per_unit = 1.0;
  };
  struct ResourceState {
    std::vector<User> users;
    double rate = 0.0;
    Duration busy_since{}, rate_since = Duration::min();
    std::uint32_t mark = 0, local = 0, set = 0;
    bool can_bind = false, touched = false;
  };
  struct Component {
    std::vector<std::uint32_t> activities, resources;
    std::vector<std::uint32_t> shared;   // positions in `resources` of those that others use, too
    MaxMinProblem problem;
  };
  /// What users outside the set leave of a resource, and whether all of them belong to the region.
  struct Gathered {
    double left = 0.0;
    bool contained = true;
  };
  /// What a component's solution means for the activities outside it that share a resource with it.
  struct Edge {
    double level = std::numeric_limits<double>::infinity();   // phi at which the resource holds members
    bool changed = false;                                     // a member's rate on it has
  };

  /// Of an activity, when it will be done at its present rate.
  struct Finish {
    FlowSerial serial = 0;
    std::uint32_t activity = 0, generation = 0;
  };

  /// Where a region is: what changed at this instant, the set that is solved because of it, what completes when. The last
  /// front is that of what belongs to no region.
  struct alignas(64) Front {
    std::uint32_t region = 0;
    std::uint32_t stamp = 0;                  // marks of one round; no two fronts use the same
    std::uint32_t set = 0;                    // the stamp of the set
    bool stale = false;                       // its soonest finish may be another
    double floor = std::numeric_limits<double>::infinity();   // no change of this instant reaches below this phi
    std::vector<std::uint32_t> free;          // places in running_
    std::vector<std::uint32_t> touched;       // resources with other activities than before
    std::vector<std::uint32_t> rate_touched;  // resources with another rate, if rates are recorded
    std::vector<std::uint32_t> changed;       // new, or with another cap
    std::vector<std::uint32_t> seeds;         // activities that touched resources put into the set
    std::vector<std::uint32_t> members;       // of the set that is solved at this instant: all bound by a resource
    std::vector<std::uint32_t> left;          // those that share a resource with what belongs to no region: solved last
    std::vector<std::uint32_t> left_seeds;    // seeds that belong to no region
    std::vector<Component> components;        // of the other members; the first component_count of them
    std::size_t component_count = 0;
    std::vector<Edge> edges;                  // of a component's resources
    InstantQueue<Finish> finishes;
    std::vector<Finish> due;

    bool is_idle() const { return touched.empty() && changed.empty(); }
  };
  /// What a front tells the others. Notices stand side by side for whoever reads all of them.
  struct Notice {
    Duration soonest = Duration::max();       // when something completes
    std::size_t count = 0;                    // how much
    double floor = std::numeric_limits<double>::infinity();
    bool has_left = false;
  };

  // What changes (fluid.cpp)
  bool holds(const Finish& finish) const {
    return running_[finish.activity].live && running_[finish.activity].generation == finish.generation;
  }
  Front& front_of(std::uint32_t resource) { return fronts_[regions_.count == 0 ? 0 : regions_.of_resource[resource]]; }
  bool is_rest(const Front& front) const { return front.region == regions(); }
  void touch(std::uint32_t resource);
  void note_rate(Duration now, std::uint32_t resource);
  void set_highest(Running& running) const;
  void attach(Duration now, std::uint32_t activity);
  bool detach(Duration now, std::uint32_t activity);
  void take_due(Front& front, Duration now);
  void end(Front& front, Duration now, std::uint32_t activity);
  void find_soonest(Front& front);
  static void close_charge(Duration now, Running& running);

  // What follows from it (fluid_solve.cpp)
  static std::uint32_t next_stamp(Front& front, std::size_t fronts);
  void refresh_binding(Front& front, Duration now);
  void refresh_binding_of(Front& front, std::uint32_t resource);
  static bool is_held_by(const Running& running, std::uint32_t resource);
  double level_of_new(std::uint32_t resource) const;
  static bool keeps_its_rate(const Front& front, const Running& running);
  bool is_bound(const Running& running) const;
  void take_in(Front& front, Duration now, std::uint32_t activity);
  void add_member(Front& front, std::uint32_t activity);
  void add_all_reachable(Front& front);
  void solve_set(Front& front, Duration now);
  bool gather(Front& front, std::uint32_t seed, Component& component);
  Gathered gather_users(const Front& front, std::uint32_t resource, Component& component);
  void gather_all(Front& front);
  void solve_all(Front& front);
  void widen(Front& front, const Component& component);
  void apply(const Front& front, Duration now);
  void apply_component(Duration now, const Component& component);
  void apply_unbound(Duration now, std::uint32_t activity);
  void set_rate(Duration now, std::uint32_t activity, double rate, Cause cause, ResourceId resource);
  void take_what_regions_left(Front& rest, Duration now);
  void record_rates(Duration now);

  /// Components of fewer activities than this are not worth a second thread.
  static constexpr std::size_t parallel_grain = 256;
  static constexpr unsigned serial_bits = 28;

  FluidOptions options_;
  std::vector<Running> running_;
  std::vector<double> capacities_;          // of each resource
  std::vector<ResourceState> states_;
  Regions regions_;
  std::vector<ResourceUse> use_;
  std::vector<Front> fronts_;               // of each region, and of what belongs to none
  std::vector<Notice> notices_;             // of each front
  std::vector<RateChange> rate_changes_;
  FlowSerial next_serial_ = 0;
};

/// Before a resource's rate changes: what it was until this instant is a candidate for its peak.
inline void FluidNetwork::note_rate(Duration now, std::uint32_t resource) {
  ResourceState& state = states_[resource];
  if (state.rate_since == now) return;
  state.rate_since = now;
  if (state.rate > use_[resource].peak) use_[resource].peak = state.rate;
  if (options_.record_rates) front_of(resource).rate_touched.push_back(resource);
}

template <class Ended>
void FluidNetwork::complete(std::uint32_t region, Duration now, Ended ended) {
  Front& front = fronts_[region];
  if (notices_[region].soonest > now) return;
  take_due(front, now);
  for (const Finish& finish : front.due) {
    Running& running = running_[finish.activity];
    close_charge(now, running);
    ended(running.serial, running.owner, running.charges);
    end(front, now, finish.activity);
  }
  find_soonest(front);
}

}  // namespace takt
