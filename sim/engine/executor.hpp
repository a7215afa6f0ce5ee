// The seam between the engine and threads: the engine asks for a loop over independent parts, an executor runs it.
// Each part writes only to its own slot, so results do not depend on the executor.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace takt {

class Executor {
 public:
  virtual ~Executor() = default;
  /// Calls body(i) once for each i in [0, count), in any order, possibly at once; returns when all are done.
  virtual void for_each(std::size_t count, const std::function<void(std::size_t)>& body) = 0;
  virtual std::size_t threads() const = 0;
};

std::unique_ptr<Executor> make_serial_executor();
std::unique_ptr<Executor> make_tbb_executor(std::size_t threads);

}  // namespace takt
