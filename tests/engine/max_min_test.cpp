#include "engine/max_min.hpp"

#include "catch.hpp"

using namespace takt;

namespace {

constexpr double no_cap = 1e300;

}  // namespace

TEST_CASE("three flows on a parking lot", "[engine]") {
  // Long flow over links A (10) and B (30); one flow on A alone, one on B alone.
  //   A: l + a <= 10, B: l + b <= 30; max-min: l = a = 5, then b = 25.
  MaxMinProblem problem;
  const auto a = problem.add_resource(10.0), b = problem.add_resource(30.0);
  problem.begin_activity(1.0, no_cap), problem.add_use(a, 1.0), problem.add_use(b, 1.0);
  problem.begin_activity(1.0, no_cap), problem.add_use(a, 1.0);
  problem.begin_activity(1.0, no_cap), problem.add_use(b, 1.0);
  problem.solve();
  REQUIRE(problem.rate == std::vector<double>{5.0, 5.0, 25.0});
  REQUIRE(problem.frozen_by == std::vector<std::uint32_t>{a, a, b});
}

TEST_CASE("a cap frees capacity for the others", "[engine]") {
  // x + y + z <= 12, x <= 2: x = 2, y = z = 5.
  MaxMinProblem problem;
  const auto r = problem.add_resource(12.0);
  for (const double cap : {2.0, no_cap, no_cap}) problem.begin_activity(1.0, cap), problem.add_use(r, 1.0);
  problem.solve();
  REQUIRE(problem.rate == std::vector<double>{2.0, 5.0, 5.0});
  REQUIRE(problem.frozen_by[0] == MaxMinProblem::cap_bound);
}

TEST_CASE("weights share in proportion, demands count per unit", "[engine]") {
  // w = 1, 3 on C = 8 with d = 1, 1: x = 2, 6.  With d = 2 for the first and equal weights: 2x + x = 9 -> x = 3 each.
  MaxMinProblem problem;
  auto r = problem.add_resource(8.0);
  problem.begin_activity(1.0, no_cap), problem.add_use(r, 1.0);
  problem.begin_activity(3.0, no_cap), problem.add_use(r, 1.0);
  problem.solve();
  REQUIRE(problem.rate == std::vector<double>{2.0, 6.0});

  problem.clear();
  r = problem.add_resource(9.0);
  problem.begin_activity(1.0, no_cap), problem.add_use(r, 2.0);
  problem.begin_activity(1.0, no_cap), problem.add_use(r, 1.0);
  problem.solve();
  REQUIRE(problem.rate == std::vector<double>{3.0, 3.0});
}

TEST_CASE("the unit of work does not matter", "[engine]") {
  // A kernel of T0 = 2 s with 6 GB traffic beside a copy of unbounded rate on a 4 GB/s memory.
  // In seconds: d = 3e9 B/s, w = 1/3e9, cap 1. phi in bytes/s: both get 2 GB/s, so x = 2/3.
  // In milliseconds of work: d = 3e6 B/ms, w = 1/3e6, cap 1000/s: x = 2000/3.
  for (const double unit : {1.0, 1e-3}) {
    MaxMinProblem problem;
    const auto memory = problem.add_resource(4e9);
    const double bytes_per_unit = 3e9 * unit;
    problem.begin_activity(1.0 / bytes_per_unit, 1.0 / unit), problem.add_use(memory, bytes_per_unit);
    problem.begin_activity(1.0, no_cap), problem.add_use(memory, 1.0);
    problem.solve();
    CHECK(problem.rate[0] == Approx(2.0 / 3.0 / unit).epsilon(1e-14));
    CHECK(problem.rate[1] == Approx(2e9).epsilon(1e-14));
  }
}
