#include "commands.hpp"
#include "report/report.hpp"
#include "scenario_runs.hpp"

#include <ostream>

namespace takt {
namespace {

constexpr std::size_t fewest = 2;
constexpr std::size_t most = 4;

ExitStatus execute(const ParsedOptions& options, const Environment& environment) {
  if (options.arguments.size() < fewest || options.arguments.size() > most) {
    environment.err << render(usage_error("takt compare needs two to four scenarios", "see takt compare --help"));
    return ExitStatus::wrong_usage;
  }
  const ScenarioRuns runs = run_scenarios(options, environment);
  if (runs.finished.size() < options.arguments.size()) return runs.status;
  std::vector<RunResult> results;
  for (const FinishedRun& run : runs.finished) results.push_back(run.result);
  environment.out << formatted(options, results, compare_table);
  return runs.status;
}

}  // namespace

Command compare_command() {
  return {"compare",
          "A B...",
          "runs side by side: which is faster, by how much, and why",
          "Simulates two to four scenarios and puts them side by side, with a verdict and what limits each. --set "
          "applies to all of them.",
          simulation_options(),
          "takt compare scenarios/llama-3.3-70b-lora-4x-h200-nvl.toml "
          "scenarios/llama-3.3-70b-lora-8x-rtx-pro-6000.toml",
          execute};
}

}  // namespace takt
