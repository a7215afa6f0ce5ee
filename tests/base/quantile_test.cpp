// The one definition of percentiles.
#include "base/quantile.hpp"

#include "catch.hpp"

using namespace takt;

TEST_CASE("a quantile lies between its neighbours", "[base]") {
  CHECK(quantile({4.0, 1.0, 3.0, 2.0}, 0.5) == 2.5);  // between 2 and 3
  CHECK(quantile({1.0, 2.0}, 0.9) == Approx(1.9));
  CHECK(quantile({7.0}, 0.9) == 7.0);
  CHECK(quantile({3.0, 1.0}, 1.0) == 3.0);
  CHECK(median({3.0, 1.0, 2.0}) == 2.0);
  CHECK(median({4.0, 1.0, 3.0, 2.0}) == 2.5);
  CHECK_THROWS(median({}));
}
