// Cost by hand: two cards of 10,000 and a server of 5,000 over 2 years of 8,766 h; 1.6 kW at 0.3 a kWh.
#include "metrics/cost.hpp"

#include "catch.hpp"

using namespace takt;

TEST_CASE("depreciation and power by the hour, and by the tokens of an hour", "[metrics][cost]") {
  const PricedMachine machine{2, 1, Power(1200.0)};
  constexpr double tokens_per_second = 500.0;
  CostSettings settings;
  CHECK_FALSE(cost_of(settings, machine, tokens_per_second).has_value());

  settings.card = 10'000.0;
  settings.server = 5'000.0;
  settings.years = 2.0;
  const double bought = 25'000.0 / (2.0 * 8766.0);
  CHECK(cost_of(settings, machine, tokens_per_second)->per_hour == Approx(bought));

  settings.power_price = 0.3;
  settings.server_power = Power(400.0);
  const auto cost = cost_of(settings, machine, tokens_per_second);
  REQUIRE(cost.has_value());
  CHECK(cost->per_hour == Approx(bought + 1.6 * 0.3));
  CHECK(cost->per_million_tokens == Approx(cost->per_hour / (500.0 * 3600.0) * 1e6));
}
