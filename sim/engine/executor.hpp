// The seam between the engine and threads: the engine asks for a loop over independent parts, an executor runs it.
// Each part writes only to its own slot, so results do not depend on the executor.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace takt {

/// A stream of items, each in a slot of the caller's while it is under way.
struct OrderedStages {
  std::function<bool(std::size_t slot)> next;    ///< one at a time: fills a free slot; false: there are no more items
  std::function<void(std::size_t slot)> work;    ///< of several items at once
  std::function<void(std::size_t slot)> finish;  ///< one at a time, in the order of next; then the slot is free
};

class Executor {
 public:
  virtual ~Executor() = default;
  /// Calls body(i) once for each i in [0, count), in any order, possibly at once; returns when all are done.
  virtual void for_each(std::size_t count, const std::function<void(std::size_t)>& body) = 0;
  /// The same for calls that follow each other within microseconds: threads stand by for a while, and an i keeps its
  /// thread from call to call, so that what it works on stays in that core's caches.
  virtual void for_each_kept(std::size_t count, const std::function<void(std::size_t)>& body) = 0;
  /// Passes items through the stages until next() says that there are no more. Slots are 0 .. slots - 1: that many items
  /// are under way at most.
  virtual void stream(std::size_t slots, const OrderedStages& stages) = 0;
  virtual std::size_t threads() const = 0;
};

std::unique_ptr<Executor> make_serial_executor();
std::unique_ptr<Executor> make_tbb_executor(std::size_t threads);

}  // namespace takt
