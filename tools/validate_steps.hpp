// takt validate --steps: every published step by the path that a run takes.
#pragma once

#include "config/library.hpp"
#include "report/step_validation.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace takt {

/// What is fitted again to the rows: nothing; the constants to all of them, with what each rests on; and also once
/// without each publisher's and each architecture's, whose rows are then simulated with them.
enum class Refit : std::uint8_t { no, to_all_rows, without_each };

/// Predicts the rows of `folder`/rows.csv, or of `table` in the same columns. A refit needs all rows to run.
Result<StepReport> validate_steps(const std::string& folder, const std::optional<std::string>& table, Library& library,
                                  Refit refit);

/// The scenario of each scored row as a file of the folder `into`, "PUBLISHER-ROW.toml"; models that the rows bring
/// along are named from there. scenarios/validation/steps holds them.
Result<std::vector<SourceText>> step_scenarios(const std::string& folder, const std::optional<std::string>& table,
                                               const std::string& into);

/// Writes these; `takt run` takes them.
std::optional<Diagnostic> write_step_scenarios(const std::string& folder, const std::optional<std::string>& table,
                                              const std::string& into);

}  // namespace takt
