// What the commands that read scenarios share: their options, and running each scenario that the line names.
#pragma once

#include "command.hpp"
#include "config/library.hpp"
#include "pipeline.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace takt {

/// --set, and for commands that simulate also --format, --threads and --require-fit.
std::vector<Option> override_options();
std::vector<Option> simulation_options();

/// The key=value pairs of --set.
Result<Overrides> overrides_of(const ParsedOptions& options);

/// What --threads says: a TBB executor, or null for one thread.
Result<std::unique_ptr<Executor>> executor_of(const ParsedOptions& options);

struct ScenarioRuns {
  std::vector<FinishedRun> finished;  ///< of the scenarios that could run, in order
  ExitStatus status = ExitStatus::done;
};

enum class Rates { ignored, recorded };

/// Runs every scenario of the line. Messages go to environment.err. Status: invalid if a scenario is, or if one does
/// not fit and --require-fit is given; wrong_usage if the options make no sense.
ScenarioRuns run_scenarios(const ParsedOptions& options, const Environment& environment, Rates rates = Rates::ignored);

/// The results as --format says; `table` writes what a terminal shows.
std::string formatted(const ParsedOptions& options, const std::vector<RunResult>& results,
                      std::string (*table)(std::span<const RunResult>));

}  // namespace takt
