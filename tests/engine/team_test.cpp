// Threads that stand by: every index of every call is done once, whoever does it.
#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "catch.hpp"
#include "engine/team.hpp"

using namespace takt;

TEST_CASE("every index of a call is done once, call after call", "[engine]") {
  for (const std::size_t threads : {1U, 2U, 3U, 8U}) {
    Team team(threads);
    for (const std::size_t count : {0U, 1U, 5U, 64U}) {
      std::vector<int> done(count, 0);
      constexpr int calls = 300;
      for (int call = 0; call < calls; ++call) team.for_each(count, [&](std::size_t i) { ++done[i]; });
      INFO(threads << " threads, " << count << " indices");
      REQUIRE(done == std::vector<int>(count, calls));
    }
  }
}

TEST_CASE("a call sees what the calls before it wrote", "[engine]") {
  // Each index adds itself and another of the call before: 2^calls everywhere, unless a write was missed.
  Team team(2);
  std::vector<std::int64_t> now(16, 1), next(16);
  for (int call = 0; call < 40; ++call) {
    team.for_each(now.size(), [&](std::size_t i) { next[i] = now[i] + now[(i + 7) % now.size()]; });
    std::swap(now, next);
  }
  REQUIRE(now == std::vector<std::int64_t>(16, std::int64_t{1} << 40));
}

TEST_CASE("a team that has gone to sleep wakes up", "[engine]") {
  Team team(2);
  for (int call = 0; call < 5; ++call) {
    std::vector<int> done(4, 0);
    team.for_each(done.size(), [&](std::size_t i) { done[i] = 1; });
    REQUIRE(std::accumulate(done.begin(), done.end(), 0) == 4);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // longer than it watches and gives way
  }
}

TEST_CASE("after a share that came much too late the caller does without the team for a while", "[engine]") {
  Team team(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> other_has_begun{false};
  team.for_each(2, [&](std::size_t i) {
    if (i == 0) {
      while (!other_has_begun) std::this_thread::yield();
    } else {
      other_has_begun = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
  std::vector<std::thread::id> by(2);
  team.for_each(2, [&](std::size_t i) { by[i] = std::this_thread::get_id(); });
  REQUIRE(by == std::vector<std::thread::id>(2, caller));
}

TEST_CASE("what a body throws reaches the caller, and the next call works", "[engine]") {
  Team team(2);
  for (const std::size_t wrong : {0U, 3U}) {   // the caller's share, another's
    const auto fails = [&](std::size_t i) {
      if (i == wrong) throw std::runtime_error("at " + std::to_string(i));
    };
    REQUIRE_THROWS_WITH(team.for_each(4, fails), "at " + std::to_string(wrong));
    int done = 0;
    team.for_each(1, [&](std::size_t) { ++done; });
    REQUIRE(done == 1);
  }
  REQUIRE_THROWS_AS(team.for_each(4, [](std::size_t) { throw std::runtime_error("all"); }), std::runtime_error);
  REQUIRE_NOTHROW(team.for_each(4, [](std::size_t) {}));
}
