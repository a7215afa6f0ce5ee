// takt validate --steps: every published step by the path that a run takes.
#pragma once

#include "config/library.hpp"
#include "report/step_validation.hpp"

#include <optional>
#include <string>

namespace takt {

/// Predicts the rows of `folder`/rows.csv, or of `table` in the same columns.
Result<StepReport> validate_steps(const std::string& folder, const std::optional<std::string>& table, Library& library);

/// Writes the scenario of each scored row to `into`, with the models that the rows bring along; `takt run` takes them.
std::optional<Diagnostic> write_step_scenarios(const std::string& folder, const std::string& into);

}  // namespace takt
