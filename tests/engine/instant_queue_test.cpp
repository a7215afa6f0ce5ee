#include "engine/instant_queue.hpp"

#include <algorithm>
#include <map>
#include <random>

#include "catch.hpp"

using namespace takt;

namespace {

std::vector<int> taken(InstantQueue<int>& queue, Duration now) {
  std::vector<int> due;
  queue.take(now, due);
  std::sort(due.begin(), due.end());
  return due;
}

}  // namespace

TEST_CASE("entries of one instant are taken together", "[engine]") {
  InstantQueue<int> queue;
  REQUIRE(queue.next() == Duration::max());
  queue.push(Duration(5), 1);
  queue.push(Duration(3), 2);
  queue.push(Duration(5), 3);
  REQUIRE(queue.next() == Duration(3));
  REQUIRE(taken(queue, Duration(3)) == std::vector<int>{2});
  queue.push(Duration(5), 4);
  REQUIRE(taken(queue, Duration(5)) == std::vector<int>{1, 3, 4});
  REQUIRE(queue.next() == Duration::max());
  queue.push(Duration(5), 5);   // an instant may come back
  REQUIRE(taken(queue, Duration(5)) == std::vector<int>{5});
}

TEST_CASE("entries of an instant are taken as they were pushed, and counted", "[engine]") {
  InstantQueue<int> queue;
  REQUIRE(queue.soonest_count() == 0);
  for (const int entry : {4, 1, 3}) queue.push(Duration(7), entry);
  queue.push(Duration(8), 2);
  REQUIRE(queue.soonest_count() == 3);
  REQUIRE(queue.next([](int entry) { return entry != 4; }) == Duration(7));   // the first is void and dropped
  REQUIRE(queue.soonest_count() == 2);
  std::vector<int> due;
  queue.take(Duration(7), due);
  REQUIRE(due == std::vector<int>{1, 3});
  REQUIRE(queue.soonest_count() == 1);
}

TEST_CASE("void entries are passed over", "[engine]") {
  InstantQueue<int> queue;
  queue.push(Duration(1), 10);
  queue.push(Duration(2), 21);
  queue.push(Duration(2), 20);
  const auto is_odd = [](int entry) { return entry % 2 == 1; };
  REQUIRE(queue.next(is_odd) == Duration(2));
  std::vector<int> due;
  queue.take(Duration(2), is_odd, due);
  REQUIRE(due == std::vector<int>{21});
}

TEST_CASE("random pushes and takes agree with a map", "[engine]") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    InstantQueue<int> queue;
    std::multimap<Duration, int> expected;
    Duration now{};
    for (int i = 0; i < 2000; ++i) {
      const Duration time = now + Duration(1 + random() % 50);
      queue.push(time, i);
      expected.emplace(time, i);
      if (random() % 3 != 0) continue;
      now = queue.next();
      REQUIRE(now == expected.begin()->first);
      std::vector<int> due;
      for (auto [at, last] = expected.equal_range(now); at != last; ++at) due.push_back(at->second);
      expected.erase(now);
      std::sort(due.begin(), due.end());
      REQUIRE(taken(queue, now) == due);
    }
  }
}
