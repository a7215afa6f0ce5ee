// takt validate --steps: every published step by the path that a run takes.
#pragma once

#include "config/library.hpp"
#include "report/step_validation.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace takt {

enum class Refit : std::uint8_t { no, without_each_publisher };

/// Predicts the rows of `folder`/rows.csv, or of `table` in the same columns. With a refit, constants are also fitted
/// to all rows, and once without each publisher's, whose rows are then simulated with them.
Result<StepReport> validate_steps(const std::string& folder, const std::optional<std::string>& table, Library& library,
                                  Refit refit);

/// Writes the scenario of each scored row to `into`, with the models that the rows bring along; `takt run` takes them.
std::optional<Diagnostic> write_step_scenarios(const std::string& folder, const std::string& into);

}  // namespace takt
