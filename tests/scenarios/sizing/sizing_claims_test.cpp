// Every figure of sizing_claims.csv that its formula reproduces comes out of what Takt computes, within its tolerance.
#include "catch.hpp"
#include "scenarios/sizing/claims.hpp"
#include "support/csv.hpp"

#include <cmath>

using namespace takt;
using namespace takt::test;

namespace {

using Row = std::map<std::string, std::string>;

Claims all_claims() {
  Claims claims = memory_claims();
  for (const Claims& more : {hardware_claims(), traffic_claims()}) claims.insert(more.begin(), more.end());
  return claims;
}

int decimals_of(const std::string& number) {
  const std::size_t dot = number.find('.');
  return dot == std::string::npos ? 0 : static_cast<int>(number.size() - dot - 1);
}

/// Whether `value` is the row's figure within its tolerance.
bool agrees(double value, const Row& row) {
  const std::string& tolerance = row.at("tolerance");
  const std::string& claimed = row.at("claimed_value");
  const double figure = std::stod(claimed);
  if (tolerance == "bound") return value < figure;
  if (tolerance == "2 %") return std::abs(value - figure) <= 0.02 * figure;
  if (tolerance != "rounds to the printed digits") throw std::runtime_error("an unknown tolerance: " + tolerance);
  const double scale = std::pow(10.0, decimals_of(claimed));
  return std::llround(value * scale) == std::llround(figure * scale);
}

}  // namespace

TEST_CASE("every figure of the sizing guides that can be reproduced is", "[scenarios][sizing]") {
  Claims claims = all_claims();
  std::size_t reproduced = 0;
  for (const Row& row : csv_table("tests/scenarios/sizing/sizing_claims.csv")) {
    const std::string& id = row.at("id");
    const bool asks = row.at("kind") == "number" && row.at("reproduced") == "yes";
    const auto claim = claims.find(id);
    CAPTURE(id, row.at("claim"));
    REQUIRE((claim != claims.end()) == asks);
    if (!asks) continue;
    const double value = claim->second();
    INFO("printed " << row.at("claimed_value") << ' ' << row.at("unit") << ", Takt " << value);
    CHECK(agrees(value, row));
    claims.erase(claim);
    ++reproduced;
  }
  CHECK(claims.empty());
  CHECK(reproduced == 109);
}

TEST_CASE("a figure that is off by a printed digit does not agree", "[scenarios][sizing]") {
  const Row row = {{"claimed_value", "42.8"}, {"tolerance", "rounds to the printed digits"}};
  CHECK(agrees(42.83, row));
  CHECK_FALSE(agrees(42.86, row));
  CHECK_FALSE(agrees(2.0, {{"claimed_value", "1.9"}, {"tolerance", "2 %"}}));
  CHECK_FALSE(agrees(96.0, {{"claimed_value", "96"}, {"tolerance", "bound"}}));
}
