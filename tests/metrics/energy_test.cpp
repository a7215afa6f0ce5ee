#include "metrics/energy.hpp"

#include "catch.hpp"
#include "config/library.hpp"
#include "hand_made.hpp"
#include "support/csv.hpp"

#include <algorithm>

using namespace takt;
using namespace takt::test;

namespace {

constexpr double micro = 1e-6;

CardSpec card_of(double watts) {
  CardSpec card;
  card.tdp = Power(watts);
  return card;
}

using Row = std::map<std::string, std::string>;

double watts(const Row& row) {
  return std::stod(row.at("watts"));
}
double share(const Row& row) {
  return watts(row) / std::stod(row.at("limit_w"));
}

std::vector<Row> readings(const std::string& state) {
  std::vector<Row> found;
  for (const Row& row : csv_table("validation/power/draws.csv"))
    if (row.at("state") == state) found.push_back(row);
  return found;
}

double lowest_share(const std::string& state) {
  double lowest = 1.0;
  for (const Row& row : readings(state)) lowest = std::min(lowest, share(row));
  return lowest;
}

double highest_share(const std::string& state) {
  double highest = 0.0;
  for (const Row& row : readings(state)) highest = std::max(highest, share(row));
  return highest;
}

}  // namespace

TEST_CASE("what a card does: kernels, communication that they do not hide, and the rest", "[metrics][energy]") {
  // kernels 12-50 and 60-65; gathers 2-12 and 12-22, scatter 50-60
  const CardActivity activity = activity_of(hand_made::plan(), hand_made::timeline(), RankId(0));
  CHECK(activity.kernels == Approx(43 * micro));
  CHECK(activity.communication == Approx(20 * micro));
  CHECK(activity.waiting == Approx(2 * micro));
}

TEST_CASE("energy is draw by time, between what is published as lowest and highest", "[metrics][energy]") {
  CardSpec card = card_of(600);
  card.idle_power = Power(60.0);
  const Range kernels = energy_of(card, {.kernels = 2.0});
  CHECK(kernels.low == Approx(2.0 * 0.608 * 600));
  CHECK(kernels.high == Approx(2.0 * 600));
  const Range alone = energy_of(card, {.communication = 2.0});
  CHECK(alone.low == Approx(2.0 * 60));
  CHECK(alone.high == Approx(2.0 * 0.675 * 600));
  const Range waits = energy_of(card, {.waiting = 2.0});
  CHECK(waits.low == Approx(2.0 * 60));
  CHECK(waits.high == Approx(2.0 * 0.2325 * 600));

  card.idle_power.reset();
  CHECK(energy_of(card, {.waiting = 1.0}).low == Approx(0.075 * 600));
}

TEST_CASE("a card that is held to a lower limit draws that at most", "[metrics][energy]") {
  CardSpec card = card_of(300);
  card.delivered_limit = Power(600.0);
  const Range kernels = energy_of(card, {.kernels = 1.0});
  CHECK(kernels.low == Approx(300));  // 0.608 of 600 W would be more
  CHECK(kernels.high == Approx(300));
  CHECK(energy_of(card, {.waiting = 1.0}).high == Approx(0.2325 * 600));
}

TEST_CASE("the draws are the extremes of the published readings", "[metrics][energy][data]") {
  constexpr double to_three_digits = 5e-4;
  CHECK(draw_of_kernels.low ==
        Approx(std::min(lowest_share("memory"), lowest_share("products"))).margin(to_three_digits));
  CHECK(draw_of_kernels.high == highest_share("products"));
  CHECK(draw_of_copies == Approx(highest_share("memory")).margin(to_three_digits));
  CHECK(draw_of_waiting == Approx(std::max(highest_share("waiting"), highest_share("idle"))).margin(to_three_digits));
  CHECK(lowest_idle == lowest_share("idle"));
  for (const Row& row : readings("step")) {
    CAPTURE(row.at("source"));
    CHECK(share(row) >= draw_of_kernels.low);
    CHECK(share(row) <= draw_of_kernels.high);
  }
}

TEST_CASE("card files state the lowest idle reading of their card", "[metrics][energy][data]") {
  Library library(search_path(nullptr));
  std::map<std::string, double> lowest;
  for (const Row& row : readings("idle")) {
    const auto [place, first] = lowest.emplace(row.at("card"), watts(row));
    if (!first) place->second = std::min(place->second, watts(row));
  }
  for (const std::string& id : library.card_names()) {
    CAPTURE(id);
    const CardSpec card = library.card(id, {}).value();
    const auto found = lowest.find(id);
    REQUIRE(card.idle_power.has_value() == (found != lowest.end()));
    if (card.idle_power) CHECK(card.idle_power->count() == found->second);
  }
}
