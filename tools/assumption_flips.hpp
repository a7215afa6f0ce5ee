// The assumptions that `takt explain --assumptions` changes, one at a time.
#pragma once

#include "pipeline.hpp"
#include "report/explanation.hpp"

namespace takt {

/// Runs the scenario as it is, then once for each assumption with that one changed. A flip that means nothing to the
/// scenario (prefetch without gathers), that is what the scenario says already, or that cannot run has no metrics.
/// Errors: those of the scenario as it is.
Result<FlippedRun> flip_assumptions(const SourceText& source, const Overrides& overrides, Library& library);

/// Settings that make all host times of the scenario `factor` times as long.
Overrides host_times(const Assumptions& assumptions, double factor);

}  // namespace takt
