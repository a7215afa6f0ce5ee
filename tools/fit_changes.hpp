// What would make a run fit: single changes of its scenario, each tried by a run.
#pragma once

#include "config/library.hpp"
#include "pipeline.hpp"

#include <vector>

namespace takt {

/// Tries at most ten changes: full checkpointing, an 8-bit optimizer, micro-batches of one sequence at the same tokens
/// a step, a loss fused with the head, full sharding, all cards of the machine, optimizer or parameters in host memory.
/// Those that change nothing of `run`'s scenario or cannot run are left out. The rest in the order of their peaks as
/// parts of the card. `source` and `overrides` are those of `run`.
std::vector<FitChange> try_fit_changes(const FinishedRun& run, const SourceText& source, const Overrides& overrides,
                                       Library& library, Executor* executor);

}  // namespace takt
