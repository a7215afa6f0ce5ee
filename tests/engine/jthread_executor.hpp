// An executor on plain threads, for the thread sanitizer (which reports false races inside Debian's libtbb).
#pragma once

#include "engine/executor.hpp"
#include "engine/team.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace takt::test {

class JthreadExecutor final : public Executor {
 public:
  explicit JthreadExecutor(std::size_t threads) : threads_(threads), team_(threads) {}
  void for_each(std::size_t count, const std::function<void(std::size_t)>& body) override {
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < count; i = next++) body(i);
    };
    std::vector<std::thread> workers;
    for (std::size_t t = 1; t < threads_; ++t) workers.emplace_back(work);
    work();
    for (std::thread& worker : workers) worker.join();
  }
  void for_each_kept(std::size_t count, const std::function<void(std::size_t)>& body) override {
    team_.for_each(count, body);
  }
  void stream(std::size_t slots, const OrderedStages& stages) override {
    std::mutex begin, end;
    std::condition_variable ended;
    std::size_t begun = 0, finished = 0;  // guarded by begin, by end
    bool more = true;                     // guarded by begin
    const auto work = [&] {
      for (;;) {
        std::size_t item = 0;
        {
          const std::lock_guard one(begin);
          if (!more) return;
          item = begun;
          std::unique_lock wait(end);
          ended.wait(wait, [&] { return item < finished + slots; });
          wait.unlock();
          more = stages.next(item % slots);
          if (!more) return;
          ++begun;
        }
        stages.work(item % slots);
        std::unique_lock wait(end);
        ended.wait(wait, [&] { return finished == item; });
        stages.finish(item % slots);
        ++finished;
        ended.notify_all();
      }
    };
    std::vector<std::thread> workers;
    for (std::size_t t = 1; t < threads_; ++t) workers.emplace_back(work);
    work();
    for (std::thread& worker : workers) worker.join();
  }
  std::size_t threads() const override { return threads_; }

 private:
  std::size_t threads_;
  Team team_;
};

}  // namespace takt::test
