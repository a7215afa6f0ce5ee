// What makes rates weighted max-min fair, checked on random systems: no resource over its capacity; every activity at
// its cap or at a full resource where no other has a larger share; invariance under scaling and permutation.
#include <algorithm>
#include <numeric>
#include <random>

#include "catch.hpp"
#include "engine/max_min.hpp"

using namespace takt;

namespace {

struct System {
  std::vector<double> capacity, weight, cap;
  std::vector<std::vector<MaxMinProblem::Use>> uses;
};

System random_system(std::mt19937& random) {
  // Few resources are searched through, many are kept in a heap: both occur.
  std::uniform_int_distribution<std::uint32_t> resource_count(1, random() % 3 == 0 ? 80 : 12), activity_count(1, 40);
  std::uniform_real_distribution<double> real(0.1, 10.0);
  System system;
  const auto resources = resource_count(random);
  for (std::uint32_t r = 0; r < resources; ++r) system.capacity.push_back(100.0 * real(random));
  const auto activities = activity_count(random);
  for (std::uint32_t a = 0; a < activities; ++a) {
    system.weight.push_back(random() % 3 == 0 ? real(random) : 1.0);
    system.cap.push_back(random() % 2 == 0 ? 30.0 * real(random) : 1e9);
    std::vector<std::uint32_t> order(resources);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<MaxMinProblem::Use> uses;
    const std::size_t count = 1 + random() % std::min<std::size_t>(4, resources);
    for (std::size_t i = 0; i < count; ++i) uses.push_back({order[i], random() % 2 == 0 ? 1.0 : real(random)});
    system.uses.push_back(uses);
  }
  return system;
}

std::vector<double> rates(const System& system, double unit = 1.0) {
  MaxMinProblem problem;
  for (const double c : system.capacity) problem.add_resource(c);
  for (std::size_t a = 0; a < system.weight.size(); ++a) {
    problem.begin_activity(system.weight[a] * unit, system.cap[a] * unit);
    for (const auto& use : system.uses[a]) problem.add_use(use.resource, use.per_unit / unit);
  }
  problem.solve();
  return problem.rate;
}

}  // namespace

TEST_CASE("random systems are shared max-min fairly", "[property]") {
  for (unsigned seed = 1; seed <= 500; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const System system = random_system(random);
    const auto rate = rates(system);
    std::vector<double> load(system.capacity.size(), 0.0), highest(system.capacity.size(), 0.0);
    for (std::size_t a = 0; a < rate.size(); ++a) {
      REQUIRE(rate[a] > 0.0);
      REQUIRE(rate[a] <= system.cap[a] * (1 + 1e-12));
      for (const auto& use : system.uses[a]) {
        load[use.resource] += use.per_unit * rate[a];
        highest[use.resource] = std::max(highest[use.resource], rate[a] / system.weight[a]);
      }
    }
    for (std::size_t r = 0; r < load.size(); ++r) REQUIRE(load[r] <= system.capacity[r] * (1 + 1e-9));
    for (std::size_t a = 0; a < rate.size(); ++a) {
      const bool at_cap = rate[a] >= system.cap[a] * (1 - 1e-12);
      const bool at_bottleneck = std::any_of(system.uses[a].begin(), system.uses[a].end(), [&](const auto& use) {
        return load[use.resource] >= system.capacity[use.resource] * (1 - 1e-9) &&
               rate[a] / system.weight[a] >= highest[use.resource] * (1 - 1e-9);
      });
      REQUIRE((at_cap || at_bottleneck));
    }
  }
}

TEST_CASE("rates scale with the unit of work and follow a permutation", "[property]") {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const System system = random_system(random);
    const auto rate = rates(system);
    const auto scaled = rates(system, 1000.0);
    for (std::size_t a = 0; a < rate.size(); ++a) REQUIRE(scaled[a] == Approx(1000.0 * rate[a]).epsilon(1e-9));

    std::vector<std::size_t> order(rate.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    System permuted = system;
    for (std::size_t a = 0; a < order.size(); ++a) {
      permuted.weight[a] = system.weight[order[a]];
      permuted.cap[a] = system.cap[order[a]];
      permuted.uses[a] = system.uses[order[a]];
    }
    const auto other = rates(permuted);
    for (std::size_t a = 0; a < order.size(); ++a) REQUIRE(other[a] == Approx(rate[order[a]]).epsilon(1e-9));
  }
}
