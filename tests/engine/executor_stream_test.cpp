// Streams of items: each exactly once, ended in the order in which they began, on any executor.
#include "catch.hpp"
#include "engine/executor.hpp"
#include "jthread_executor.hpp"

#include <atomic>
#include <numeric>
#include <vector>

using namespace takt;

namespace {

/// Passes 0 .. count - 1 through `executor`; returns the squares in the order in which items ended.
std::vector<std::size_t> squares(Executor& executor, std::size_t slots, std::size_t count) {
  std::vector<std::size_t> items(slots), results(slots), ended;
  std::size_t next = 0;
  std::atomic<std::size_t> under_way = 0;
  OrderedStages stages;
  stages.next = [&](std::size_t slot) {
    if (next == count) return false;
    items[slot] = next++;
    CHECK(++under_way <= slots);
    return true;
  };
  stages.work = [&](std::size_t slot) { results[slot] = items[slot] * items[slot]; };
  stages.finish = [&](std::size_t slot) {
    --under_way;
    ended.push_back(results[slot]);
  };
  executor.stream(slots, stages);
  return ended;
}

}  // namespace

TEST_CASE("a stream ends its items in order", "[engine][executor]") {
  const auto serial = make_serial_executor();
  takt::test::JthreadExecutor threads(3);
  for (const std::size_t count : {0U, 1U, 5U, 1000U}) {
    std::vector<std::size_t> wanted(count);
    for (std::size_t i = 0; i < count; ++i) wanted[i] = i * i;
    CHECK(squares(*serial, 1, count) == wanted);
    CHECK(squares(threads, 5, count) == wanted);
#if !defined(__SANITIZE_THREAD__)   // reports false races inside Debian's libtbb
    CHECK(squares(*make_tbb_executor(4), 7, count) == wanted);
#endif
  }
}
