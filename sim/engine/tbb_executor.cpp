// The home of TBB.
#include "engine/executor.hpp"
#include "engine/team.hpp"

#include <algorithm>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

namespace takt {
namespace {

/// Calls are short: more threads than this are not worth waking.
constexpr std::size_t most_in_a_team = 8;

class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(std::size_t threads)
      : threads_(threads),
        control_(tbb::global_control::max_allowed_parallelism, threads),
        arena_(static_cast<int>(threads)) {}
  void for_each_kept(std::size_t count, const std::function<void(std::size_t)>& body) override {
    // TBB's loops give an index to any thread, and wake it late.
    if (!team_) team_ = std::make_unique<Team>(std::min(threads_, most_in_a_team));
    team_->for_each(count, body);
  }
  void for_each(std::size_t count, const std::function<void(std::size_t)>& body) override {
    arena_.execute([&] {
      tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count), [&](const tbb::blocked_range<std::size_t>& range) {
        for (std::size_t i = range.begin(); i != range.end(); ++i) body(i);
      });
    });
  }
  void stream(std::size_t slots, const OrderedStages& stages) override {
    // The last stage ends items in the order in which the first began them, and `slots` of them are under way at most:
    // when an item begins, the one that was begun `slots` before it has ended.
    std::size_t begun = 0;
    const auto next = [&](tbb::flow_control& control) {
      const std::size_t slot = begun++ % slots;
      if (!stages.next(slot)) control.stop();
      return slot;
    };
    const auto work = [&](std::size_t slot) {
      stages.work(slot);
      return slot;
    };
    arena_.execute([&] {
      tbb::parallel_pipeline(slots,
                             tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, next) &
                                 tbb::make_filter<std::size_t, std::size_t>(tbb::filter_mode::parallel, work) &
                                 tbb::make_filter<std::size_t, void>(tbb::filter_mode::serial_in_order, stages.finish));
    });
  }
  std::size_t threads() const override { return threads_; }

 private:
  std::size_t threads_;
  tbb::global_control control_;  // lets an executor have more threads than the machine has cores
  tbb::task_arena arena_;
  std::unique_ptr<Team> team_;
};

}  // namespace

std::unique_ptr<Executor> make_tbb_executor(std::size_t threads) {
  return std::make_unique<TbbExecutor>(threads);
}

}  // namespace takt
