// An executor on plain threads, for the thread sanitizer (which reports false races inside Debian's libtbb).
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "engine/executor.hpp"

namespace takt::test {

class JthreadExecutor final : public Executor {
 public:
  explicit JthreadExecutor(std::size_t threads) : threads_(threads) {}
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
  std::size_t threads() const override { return threads_; }

 private:
  std::size_t threads_;
};

}  // namespace takt::test
