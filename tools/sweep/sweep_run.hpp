// Plays the points of a sweep: expand, build, simulate on several threads, write in order.
//
// What points share (models, topologies, routes, priced workloads) is built once. A bounded number of points is under
// way at once, so that the memory does not depend on the number of points. Rows are written in the order of the points,
// and a row depends on its point alone: the file is the same for any number of threads.
#pragma once

#include "engine/executor.hpp"
#include "shared_parts.hpp"
#include "sweep/progress.hpp"
#include "sweep/shard.hpp"
#include "sweep/sweep_output.hpp"

#include <functional>

namespace takt {

struct SweepCounts {
  std::uint64_t ok = 0, unfit = 0, failed = 0;
  std::string first_error;           ///< of the first row that failed
  std::optional<Diagnostic> broken;  ///< what ended the sweep early: the output refused a row

  std::uint64_t all() const { return ok + unfit + failed; }
};

struct SweepRunOptions {
  Shard shard;
  std::uint64_t first = 0;     ///< position in the shard of the first point to play
  std::function<bool()> stop;  ///< asked before each point; true: no more points
};

/// The row of one point.
SweepRow play_point(const SweepDocument& sweep, std::uint64_t point, SharedParts& parts, const SweepOutput& output);

SweepCounts run_sweep(const SweepDocument& sweep, SharedParts& parts, SweepOutput& output, Executor& executor,
                      Progress& progress, const SweepRunOptions& options);

/// Whether the rows of a file are the first ones of this sweep (of this shard); else an error that names the first row
/// that is not. `path` is for the message.
std::optional<Diagnostic> check_present(const SweepDocument& sweep, const Shard& shard, const SweepOutput& output,
                                        Executor& executor, const std::string& path);

}  // namespace takt
