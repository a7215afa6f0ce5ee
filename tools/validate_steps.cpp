#include "validate_steps.hpp"

#include "calibration/step_fit.hpp"
#include "output_file.hpp"
#include "pipeline.hpp"

#include <filesystem>
#include <set>
#include <utility>

namespace takt {
namespace {

/// Scored rows as scenarios, which any constants can price.
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
    steps.report.outcomes.push_back({one, 0.0, 0.0, ""});
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

/// Predicted seconds and slopes at the recorded constants: a simulation more for each constant.
std::vector<StepFitRow> fit_rows(const Steps& steps, Library& library) {
  constexpr double nudge = 0.05;  // of a constant: the step stays nearly linear
  const GlobalConstants at = recorded_global_constants();
  std::vector<StepFitRow> rows;
  for (const StepOutcome& outcome : steps.report.outcomes)
    rows.push_back({outcome.row.publisher, outcome.row.measured_s, outcome.predicted_s, {}});
  for (const GlobalConstant& constant : global_constants()) {
    GlobalConstants nudged = at;
    nudged.*constant.value *= 1.0 + nudge;
    SharedParts parts(library, nudged);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Result<double> seconds = predicted(steps.scenarios[i], parts);
      const double change = seconds ? *seconds - rows[i].predicted_s : 0.0;
      rows[i].slopes.push_back(change / (nudge * at.*constant.value));
    }
  }
  return rows;
}

void leave_each_publisher_out(Steps& steps, Library& library) {
  const std::vector<StepFitRow> rows = fit_rows(steps, library);
  const GlobalConstants at = recorded_global_constants();
  StepReport& report = steps.report;
  report.refitted.emplace("", fit_global_constants(rows, at, ""));
  std::set<std::string> publishers;
  for (const StepFitRow& row : rows) publishers.insert(row.publisher);
  for (const std::string& publisher : publishers) {
    const GlobalConstants constants = fit_global_constants(rows, at, publisher);
    report.refitted.emplace(publisher, constants);
    SharedParts parts(library, constants);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].publisher != publisher) continue;
      if (const Result<double> seconds = predicted(steps.scenarios[i], parts)) report.outcomes[i].left_out_s = *seconds;
    }
  }
}

}  // namespace

Result<StepReport> validate_steps(const std::string& folder, const std::optional<std::string>& table, Library& library,
                                  Refit refit) {
  Result<Steps> steps = steps_of(folder, table.value_or(folder + "/rows.csv"));
  if (!steps) return steps.diagnostics();
  SharedParts parts(library);
  bool all_ran = true;
  for (std::size_t i = 0; i < steps->scenarios.size(); ++i) {
    const Result<double> seconds = predicted(steps->scenarios[i], parts);
    if (seconds)
      steps->report.outcomes[i].predicted_s = *seconds;
    else
      steps->report.outcomes[i].not_predicted = seconds.diagnostics().front().message;
    all_ran = all_ran && seconds.has_value();
  }
  if (refit == Refit::without_each_publisher && all_ran) leave_each_publisher_out(*steps, library);
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
