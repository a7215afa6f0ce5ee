// Threads that stand by for work that comes every few microseconds.
//
// Each member of the team has its share of a call: the same indices from call to call, so that what they work on stays in
// its core's caches. A member that waits watches for the next call, first without giving up its core, then giving way to
// others, then asleep. The caller does its own share, then every share that nobody has begun. A member whose core is taken
// by something else in the middle of a share keeps the caller waiting. Where such waits cost more than the team saves, the
// caller does without it for a while, the longer the more often that happens.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace takt {

class Team {
 public:
  explicit Team(std::size_t threads);  ///< the caller's included: at least 1
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Calls body(i) once for each i in [0, count); returns when all are done. Throws what a body threw. One caller at a
  /// time.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& body);

 private:
  struct alignas(64) Member {
    std::atomic<std::uint32_t> begun{0}, done{0};  // the last call whose share has been
    std::exception_ptr failure;
    std::thread thread;
  };

  void stand_by(std::size_t member);
  std::uint32_t next_call(std::uint32_t last) const;
  bool begin_share(Member& member, std::uint32_t call);
  void do_share(std::size_t member);
  std::chrono::nanoseconds wait_for(const Member& member, std::uint32_t call) const;
  void judge(std::chrono::nanoseconds lost);

  std::vector<Member> members_;  // the first is the caller
  const std::function<void(std::size_t)>* body_ = nullptr;
  std::size_t count_ = 0;
  std::chrono::nanoseconds credit_{};     // what the team has saved lately, less what waits for it took
  int calls_alone_ = 0;                   // so many more
  int next_calls_alone_ = 0;              // when credit runs out again
  alignas(64) std::atomic<std::uint32_t> call_{0};
  std::atomic<bool> stopping_{false};
};

}  // namespace takt
