// Running activities and their rates, re-solved where something changed.
//
// The set of running activities and the resources that can bind form a bipartite graph; its connected components are
// independent. A resource cannot bind if the sum of d(a, r) xmax(a) over its activities stays within its capacity, where
// xmax(a) = min(cap, min over r of C(r) / d(a, r)) is the most that a could ever run at: such a resource joins no
// component. Two cards' kernels beside one pipelined ring are then often a component of a few activities, or none at
// all: an activity without a binding resource runs at xmax.
//
// All changes of one instant are told first (start, set_cap, completions), then solve() brings every changed component
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
// went before. Activities frozen below the lowest such level (`floor_`) keep their rates; only the rest is solved again,
// on what they leave.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "collective/activity.hpp"
#include "engine/executor.hpp"
#include "engine/instant_queue.hpp"
#include "engine/max_min.hpp"
#include "engine/timeline.hpp"
#include "topology/resource.hpp"

namespace takt {

enum class RunningId : std::uint32_t {};   ///< an activity while it runs; reused after it has completed

struct FluidOptions {
  Executor* executor = nullptr;
  bool prune = true;
  bool record_rates = false;
};

class FluidNetwork {
 public:
  FluidNetwork(const ResourceTable& resources, FluidOptions options);

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

  /// Re-solves what changed. Call when all changes of the instant are told.
  void solve(Duration now);

  /// The next instant at which an activity completes; Duration::max() if none.
  Duration next_completion();

  struct Completed {
    std::uint64_t owner = 0;
    std::vector<Charge> charges;   ///< adds up to the time it ran
  };
  /// Ends every activity whose completion time is `now`, in the order they were started, and returns their number: the
  /// first so many entries of `out`, which only grows (its entries keep their memory).
  std::size_t complete(Duration now, std::vector<Completed>& out);

  const std::vector<ResourceUse>& use(Duration end);  ///< of each resource, up to `end`
  void restart_use(Duration now);                     ///< forgets what resources did before `now`
  std::vector<RateChange> take_rate_changes() { return std::move(rate_changes_); }

 private:
  struct Running {
    double work = 0.0, remaining = 0.0, rate = 0.0, cap = 0.0, highest = 0.0, weight = 1.0,
           payload = 1.0, alone = 0.0;
    Duration since{}, completion = Duration::max(), cause_since{};
    std::uint64_t owner = 0, serial = 0;
    std::uint32_t generation = 0, mark = 0, set = 0;
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
    Duration busy_since{};
    std::uint32_t mark = 0, local = 0, set = 0;
    bool can_bind = false, touched = false, rate_touched = false;
  };
  struct Component {
    std::vector<std::uint32_t> activities, resources;
    std::vector<std::uint32_t> shared;   // positions in `resources` of those that others use, too
    MaxMinProblem problem;
  };
  /// What a component's solution means for the activities outside it that share a resource with it.
  struct Edge {
    double level = std::numeric_limits<double>::infinity();   // phi at which the resource holds members
    bool changed = false;                                     // a member's rate on it has
  };

  /// Of an activity, when it will be done at its present rate.
  struct Finish {
    std::uint64_t serial = 0;
    std::uint32_t activity = 0, generation = 0;
  };

  // What changes (fluid.cpp)
  std::uint32_t new_slot();
  bool holds(const Finish& finish) const {
    return running_[finish.activity].live && running_[finish.activity].generation == finish.generation;
  }
  void touch(std::uint32_t resource);
  void touch_rate(std::uint32_t resource);
  void mark_changed(std::uint32_t activity);
  void set_highest(Running& running) const;
  void attach(Duration now, std::uint32_t activity);
  void detach(Duration now, std::uint32_t activity);
  static void close_charge(Duration now, Running& running);

  // What follows from it (fluid_solve.cpp)
  void refresh_binding();
  void refresh_binding_of(std::uint32_t resource);
  static bool is_held_by(const Running& running, std::uint32_t resource);
  double level_of_new(std::uint32_t resource) const;
  bool keeps_its_rate(const Running& running) const;
  bool is_bound(const Running& running) const;
  void add_member(std::uint32_t activity);
  void add_all_reachable();
  void gather(std::uint32_t seed, Component& component);
  double left_for_members(std::uint32_t resource, Component& component);
  void gather_all();
  void solve_all();
  void widen(const Component& component);
  void apply(Duration now);
  void apply_component(Duration now, const Component& component);
  void apply_unbound(Duration now, std::uint32_t activity);
  void set_rate(Duration now, std::uint32_t activity, double rate, Cause cause, ResourceId resource);
  void publish_rates(Duration now);

  /// Components of fewer activities than this are not worth a second thread.
  static constexpr std::size_t parallel_grain = 256;

  const ResourceTable& table_;
  FluidOptions options_;
  std::vector<Running> running_;
  std::vector<std::uint32_t> free_;
  std::vector<ResourceState> states_;
  std::vector<ResourceUse> use_;
  std::vector<std::uint32_t> touched_, rate_touched_;
  std::vector<std::uint32_t> changed_;      // new, or with another cap
  std::vector<std::uint32_t> seeds_;        // activities that touched resources put into the set
  std::vector<std::uint32_t> members_;      // of the set that is solved at this instant
  std::vector<std::uint32_t> unbound_;      // those of them that no resource binds
  std::vector<Component> components_;       // of the others; the first component_count_ of them
  std::size_t component_count_ = 0;
  std::vector<Edge> edges_;                 // of a component's resources
  InstantQueue<Finish> finishes_;
  std::vector<Finish> due_;
  std::vector<RateChange> rate_changes_;
  double floor_ = std::numeric_limits<double>::infinity();   // no change of this instant reaches below this phi
  std::uint64_t next_serial_ = 0;
  std::uint32_t mark_ = 0, set_ = 0;
};

}  // namespace takt
