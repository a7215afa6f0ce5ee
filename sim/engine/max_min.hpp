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
// A resource's level (remaining capacity over remaining demand) never falls while others freeze at lower levels, so a
// heap with lazily refreshed keys yields the bottlenecks in order: O((n + m) log m) plus the size of the demands.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace takt {

/// One component to share. Built by append; reused between solves to keep its memory.
struct MaxMinProblem {
  static constexpr std::uint32_t cap_bound = std::numeric_limits<std::uint32_t>::max();

  struct Use {
    std::uint32_t resource = 0;     ///< position in `capacity`
    double per_unit = 1.0;
  };
  // Activities: uses of activity i are uses[first_use[i]] .. uses[first_use[i + 1]].
  std::vector<double> weight;
  std::vector<double> cap;
  std::vector<std::uint32_t> first_use = {0};
  std::vector<Use> uses;
  std::vector<double> capacity;     ///< of each resource

  // The answer.
  std::vector<double> rate;
  std::vector<std::uint32_t> frozen_by;   ///< the resource that froze it, or cap_bound

  void clear();
  std::uint32_t add_resource(double capacity_of_it);
  void begin_activity(double weight_of_it, double cap_of_it);   ///< cap may be infinite; then add_use
  void add_use(std::uint32_t resource, double per_unit);
  std::size_t activities() const { return weight.size(); }

  void solve();

 private:
  struct Level {
    double phi = 0.0;
    std::uint32_t id = 0;         // a resource or an activity
  };
  static bool higher(const Level& a, const Level& b) { return a.phi != b.phi ? a.phi > b.phi : a.id > b.id; }
  /// A resource over the activities that are not frozen yet.
  struct State {
    double remaining = 0.0;       // capacity
    double demand = 0.0;          // sum of per_unit * weight
    std::uint32_t open = 0;       // how many
  };
  void index_users();
  void order_caps();
  void freeze(std::uint32_t activity, double at_rate, std::uint32_t by);
  bool lowest_level_on_top();
  void sink_top();
  void drop_top();
  double level_of(std::uint32_t resource) const { return states_[resource].remaining / states_[resource].demand; }

  std::vector<std::uint32_t> first_user_, users_, cursor_;
  std::vector<State> states_;
  std::vector<std::uint8_t> frozen_;
  std::vector<Level> heap_, caps_;   // caps_: phi at which each capped activity freezes, ascending
};

}  // namespace takt
