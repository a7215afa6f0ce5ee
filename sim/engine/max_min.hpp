// Weighted max-min fair sharing with caps.
//
// Activities a run at rates x(a) >= 0 on resources r of capacity C(r); a unit of a's work uses d(a, r) units of r:
//
//     for every r:   sum over a of d(a, r) x(a) <= C(r)          (feasible)
//     for every a:   x(a) <= cap(a)
//
// Of all feasible rates we take the max-min fair ones over phi(a) = x(a) / w(a): no phi can grow without shrinking one
// that is not larger. Progressive filling finds them: raise one common phi from zero; when it reaches a resource's
// remaining capacity divided by the remaining sum of d w, or an activity's cap / w, freeze what is limited there and go
// on with the rest. The answer does not depend on the unit in which a's work is counted: scaling work by c scales x, cap
// and w by c and d by 1/c, and phi stays.
//
// A resource's level (remaining capacity over remaining demand) never falls while others freeze at lower levels. Of a few
// resources the lowest is looked for; of many, a heap with lazily refreshed keys yields the bottlenecks in order:
// O((n + m) log m) plus the size of the demands.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace takt {

/// One component to share. Built by append; reused between solves to keep its memory.
class MaxMinProblem {
 public:
  static constexpr std::uint32_t cap_bound = std::numeric_limits<std::uint32_t>::max();

  struct Use {
    std::uint32_t resource = 0;  ///< as add_resource numbered it
    double per_unit = 1.0;
  };

  // The answer, of each activity in the order in which they were begun.
  std::vector<double> rate;
  std::vector<std::uint32_t> frozen_by;  ///< the resource that froze it, or cap_bound

  void clear();
  std::uint32_t add_resource(double capacity);
  void begin_activity(double weight, double cap);  ///< cap may be infinite; then add_use
  void add_use(std::uint32_t resource, double per_unit);

  /// Uses up what was built: clear() before the next.
  void solve();

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t few_resources = 24;  // among fewer, looking at all is faster than a heap

  struct Level {
    double phi = 0.0;
    std::uint32_t id = 0;  // a resource or an activity
  };
  static bool higher(const Level& a, const Level& b) { return a.phi != b.phi ? a.phi > b.phi : a.id > b.id; }
  /// A resource over the activities that are not frozen yet, and the list of all its uses.
  struct Resource {
    double remaining = 0.0;  // capacity
    double demand = 0.0;     // sum of per_unit * weight
    std::uint32_t open = 0;  // how many
    std::uint32_t first_use = none, last_use = none;
    double level() const { return remaining / demand; }
  };
  struct Activity {
    double weight = 1.0, cap = 0.0;
    std::uint32_t first_use = 0, end_of_uses = 0;
    bool frozen = false;
  };
  /// Uses of an activity lie side by side; those of a resource are a list.
  struct LinkedUse {
    double per_unit = 1.0;
    std::uint32_t resource = 0, activity = 0;
    std::uint32_t next = none;  // of the resource
  };
  void order_caps();
  void order_levels();
  void freeze(std::uint32_t activity, double at_rate, std::uint32_t by);
  std::uint32_t lowest();
  std::uint32_t lowest_of_few() const;
  std::uint32_t lowest_of_heap();
  void sink_top();
  void drop_top();

  std::vector<Activity> activities_;
  std::vector<Resource> resources_;
  std::vector<LinkedUse> uses_;  // the first use_count_ of them
  std::uint32_t use_count_ = 0;
  std::vector<Level> heap_, caps_;  // caps_: phi at which each capped activity freezes, ascending
  bool has_caps_ = false;
};

// Told a few million times a second: inline.

inline std::uint32_t MaxMinProblem::add_resource(double capacity) {
  Resource resource;
  resource.remaining = capacity;
  resources_.push_back(resource);
  return static_cast<std::uint32_t>(resources_.size() - 1);
}

inline void MaxMinProblem::begin_activity(double weight, double cap) {
  activities_.push_back({weight, cap, use_count_, use_count_, false});
  has_caps_ = has_caps_ || cap < std::numeric_limits<double>::infinity();
}

inline void MaxMinProblem::add_use(std::uint32_t resource, double per_unit) {
  Activity& activity = activities_.back();
  Resource& used = resources_[resource];
  if (use_count_ == uses_.size()) uses_.resize(2 * uses_.size() + few_resources);
  uses_[use_count_] = {per_unit, resource, static_cast<std::uint32_t>(activities_.size() - 1), none};
  (used.last_use == none ? used.first_use : uses_[used.last_use].next) = use_count_;
  used.last_use = use_count_++;
  used.demand += per_unit * activity.weight;
  ++used.open;
  ++activity.end_of_uses;
}

}  // namespace takt
