#include "metrics/intervals.hpp"

#include "catch.hpp"

#include <bitset>
#include <random>

using namespace takt;

namespace {

constexpr std::size_t span = 64;

std::bitset<span> instants(const TimeSet& set) {
  std::bitset<span> bits;
  for (const Interval& interval : set.intervals()) {
    for (auto t = interval.begin.count(); t < interval.end.count(); ++t) bits.set(static_cast<std::size_t>(t));
  }
  return bits;
}

TimeSet random_set(std::mt19937& random) {
  std::vector<Interval> intervals;
  for (int i = 0; i < 6; ++i) {
    const auto begin = static_cast<std::int64_t>(random() % span);
    const auto length = static_cast<std::int64_t>(random() % 12);
    intervals.push_back({Duration(begin), Duration(std::min<std::int64_t>(begin + length, span))});
  }
  return TimeSet(intervals);
}

}  // namespace

TEST_CASE("intervals that touch are joined and empty ones dropped", "[metrics]") {
  const TimeSet set({{Duration(5), Duration(7)}, {Duration(0), Duration(5)}, {Duration(9), Duration(9)}});
  REQUIRE(set.intervals() == std::vector<Interval>{{Duration(0), Duration(7)}});
  REQUIRE(set.length() == Duration(7));
}

TEST_CASE("union, intersection and difference agree with sets of instants", "[metrics]") {
  constexpr unsigned seed = 7;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    const TimeSet a = random_set(random), b = random_set(random);
    REQUIRE(instants(a | b) == (instants(a) | instants(b)));
    REQUIRE(instants(a & b) == (instants(a) & instants(b)));
    REQUIRE(instants(a - b) == (instants(a) & ~instants(b)));
    REQUIRE((a & b).length() + (a - b).length() == a.length());
  }
}
