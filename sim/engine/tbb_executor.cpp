// The home of TBB.
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "engine/executor.hpp"

namespace takt {
namespace {

class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(std::size_t threads) : threads_(threads), arena_(static_cast<int>(threads)) {}
  void for_each(std::size_t count, const std::function<void(std::size_t)>& body) override {
    arena_.execute([&] {
      tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count), [&](const tbb::blocked_range<std::size_t>& range) {
        for (std::size_t i = range.begin(); i != range.end(); ++i) body(i);
      });
    });
  }
  std::size_t threads() const override { return threads_; }

 private:
  std::size_t threads_;
  tbb::task_arena arena_;
};

}  // namespace

std::unique_ptr<Executor> make_tbb_executor(std::size_t threads) { return std::make_unique<TbbExecutor>(threads); }

}  // namespace takt
