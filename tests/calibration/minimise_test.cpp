#include "calibration/minimise.hpp"

#include "catch.hpp"

using namespace takt;

TEST_CASE("the simplex finds the foot of Rosenbrock's valley", "[calibration]") {
  // (1 - x)^2 + 100 (y - x^2)^2 is 0 at (1, 1) and nowhere else
  const auto valley = [](const std::vector<double>& p) {
    return (1 - p[0]) * (1 - p[0]) + 100 * (p[1] - p[0] * p[0]) * (p[1] - p[0] * p[0]);
  };
  const Minimum found = minimise(valley, {-1.2, 1.0}, {0.5, 0.5}, 200);
  CHECK(found.at[0] == Approx(1.0).margin(1e-6));
  CHECK(found.at[1] == Approx(1.0).margin(1e-6));
  CHECK(found.value < 1e-12);
}
