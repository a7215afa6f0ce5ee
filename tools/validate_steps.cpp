#include "validate_steps.hpp"

#include "output_file.hpp"
#include "pipeline.hpp"

#include <filesystem>
#include <set>
#include <utility>

namespace takt {
namespace {

/// Scored rows as scenarios.
struct Steps {
  StepReport report;
  std::vector<SourceText> scenarios;  ///< of report.outcomes
};

Result<Steps> steps_of(const std::string& folder, const std::string& rows_file) {
  const Result<SourceText> text = read_text_file(rows_file);
  if (!text) return text.diagnostics();
  const Result<std::vector<StepCase>> cases = read_step_cases(*text);
  if (!cases) return cases.diagnostics();
  const Result<StepLegend> legend = read_step_legend(folder);
  if (!legend) return legend.diagnostics();
  Steps steps;
  steps.report.rules = legend->rules;
  for (const StepCase& one : *cases) {
    if (!one.excluded.empty()) {
      steps.report.excluded.push_back(one);
      continue;
    }
    Result<SourceText> scenario = step_scenario(one, *legend, folder + "/" + one.row + ".toml");
    if (!scenario) return scenario.diagnostics();
    steps.scenarios.push_back(*std::move(scenario));
    steps.report.outcomes.push_back({one, 0.0, ""});
  }
  return steps;
}

/// Seconds of a step, or the first thing that is wrong with it.
Result<double> predicted(const SourceText& scenario, SharedParts& parts) {
  Result<PreparedRun> prepared = prepare(read_scenario(scenario, {}), parts);
  if (!prepared) return prepared.diagnostics();
  const Result<FinishedRun> finished = finish_run(*std::move(prepared), {});
  if (!finished) return finished.diagnostics();
  return to_seconds(finished->result.metrics.step_time);
}

}  // namespace

Result<StepReport> validate_steps(const std::string& folder, const std::optional<std::string>& table,
                                  Library& library) {
  Result<Steps> steps = steps_of(folder, table.value_or(folder + "/rows.csv"));
  if (!steps) return steps.diagnostics();
  SharedParts parts(library);
  for (std::size_t i = 0; i < steps->scenarios.size(); ++i) {
    const Result<double> seconds = predicted(steps->scenarios[i], parts);
    if (seconds)
      steps->report.outcomes[i].predicted_s = *seconds;
    else
      steps->report.outcomes[i].not_predicted = seconds.diagnostics().front().message;
  }
  return std::move(steps->report);
}

std::optional<Diagnostic> write_step_scenarios(const std::string& folder, const std::string& into) {
  const Result<Steps> steps = steps_of(folder, folder + "/rows.csv");
  if (!steps) return steps.diagnostics().front();
  std::error_code problem;
  std::filesystem::create_directories(into + "/models", problem);
  std::set<std::string> models;
  for (std::size_t i = 0; i < steps->scenarios.size(); ++i) {
    const StepCase& one = steps->report.outcomes[i].row;
    if (const auto failed = write_file(into + "/" + one.row + ".toml", steps->scenarios[i].text)) return failed;
    if (one.model.ends_with(".toml")) models.insert(one.model);
  }
  for (const std::string& model : models) {
    const Result<SourceText> text = read_text_file(folder + "/" + model);
    if (!text) return text.diagnostics().front();
    if (const auto failed = write_file(into + "/" + model, text->text)) return failed;
  }
  return std::nullopt;
}

}  // namespace takt
