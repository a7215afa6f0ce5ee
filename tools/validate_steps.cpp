#include "validate_steps.hpp"

#include "calibration/step_fit.hpp"
#include "output_file.hpp"
#include "pipeline.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>
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
    steps.report.outcomes.emplace_back().row = one;
  }
  return steps;
}

/// A step as it was simulated.
struct Played {
  double seconds = 0.0;
  std::string architecture;  ///< of the cards
};

/// Or the first thing that is wrong with it.
Result<Played> played(const SourceText& scenario, SharedParts& parts) {
  Result<PreparedRun> prepared = prepare(read_scenario(scenario, {}), parts);
  if (!prepared) return prepared.diagnostics();
  std::string architecture = prepared->topology->card_spec(prepared->cards.front()).architecture;
  const Result<FinishedRun> finished = finish_run(*std::move(prepared), {});
  if (!finished) return finished.diagnostics();
  return Played{to_seconds(finished->result.metrics.step_time), std::move(architecture)};
}

/// Predicted seconds and slopes at the recorded constants: a simulation more for each constant.
std::vector<StepFitRow> fit_rows(const Steps& steps, Library& library) {
  constexpr double nudge = 0.05;  // of a constant: the step stays nearly linear
  const GlobalConstants at = recorded_global_constants();
  std::vector<StepFitRow> rows;
  for (const StepOutcome& outcome : steps.report.outcomes)
    rows.push_back({outcome.row.publisher, outcome.architecture, outcome.row.measured_s, outcome.predicted_s, {}});
  for (const GlobalConstant& constant : global_constants()) {
    GlobalConstants nudged = at;
    nudged.*constant.value *= 1.0 + nudge;
    SharedParts parts(library, nudged);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Result<Played> step = played(steps.scenarios[i], parts);
      const double change = step ? step->seconds - rows[i].predicted_s : 0.0;
      rows[i].slopes.push_back(change / (nudge * at.*constant.value));
    }
  }
  return rows;
}

/// Which rows each constant moves.
std::vector<ConstantBasis> bases_of(const std::vector<StepFitRow>& rows, const std::vector<StepOutcome>& outcomes) {
  constexpr double least = 1e-6;  // of a step, for all of a constant: what rounding to picoseconds stays below
  const GlobalConstants at = recorded_global_constants();
  std::vector<ConstantBasis> bases;
  for (std::size_t c = 0; c < global_constants().size(); ++c) {
    ConstantBasis basis;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double share = rows[i].slopes[c] * at.*global_constants()[c].value / rows[i].predicted_s;
      if (share > least) basis.rows.push_back({outcomes[i].row.row, rows[i].publisher, share});
    }
    bases.push_back(std::move(basis));
  }
  return bases;
}

using Refitting = GlobalConstants (*)(std::span<const StepFitRow>, const GlobalConstants&, const std::string&);

/// For each value of `key`: constants fitted without its rows, and what they predict for these.
std::map<std::string, GlobalConstants> leave_each_out(Steps& steps, const std::vector<StepFitRow>& rows,
                                                      Library& library, std::string StepFitRow::*key, Refitting fit,
                                                      double StepOutcome::*predicted) {
  std::map<std::string, GlobalConstants> fitted;
  for (const StepFitRow& row : rows) {
    if (fitted.count(row.*key) == 0) fitted.emplace(row.*key, fit(rows, recorded_global_constants(), row.*key));
  }
  for (const auto& [value, constants] : fitted) {
    SharedParts parts(library, constants);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].*key != value) continue;
      if (const Result<Played> step = played(steps.scenarios[i], parts))
        steps.report.outcomes[i].*predicted = step->seconds;
    }
  }
  return fitted;
}

}  // namespace

Result<StepReport> validate_steps(const std::string& folder, const std::optional<std::string>& table, Library& library,
                                  Refit refit) {
  Result<Steps> steps = steps_of(folder, table.value_or(folder + "/rows.csv"));
  if (!steps) return steps.diagnostics();
  StepReport& report = steps->report;
  SharedParts parts(library);
  bool all_ran = true;
  Diagnostics errors;   // of a table of the user's
  for (std::size_t i = 0; i < steps->scenarios.size(); ++i) {
    const Result<Played> step = played(steps->scenarios[i], parts);
    if (step) {
      report.outcomes[i].predicted_s = step->seconds;
      report.outcomes[i].architecture = step->architecture;
    } else {
      const Diagnostic& first = step.diagnostics().front();
      report.outcomes[i].not_predicted = first.message;
      const StepCase& row = report.outcomes[i].row;
      if (table) errors.push_back({Severity::error, row.place, "row " + row.row + ": " + first.message, first.hint});
    }
    all_ran = all_ran && step.has_value();
  }
  if (!errors.empty()) return errors;
  if (refit == Refit::no || !all_ran || report.outcomes.empty()) return std::move(report);
  const std::vector<StepFitRow> rows = fit_rows(*steps, library);
  report.bases = bases_of(rows, report.outcomes);
  report.refitted = fit_global_constants(rows, recorded_global_constants());
  if (refit == Refit::to_all_rows) return std::move(report);
  report.without_publisher = leave_each_out(*steps, rows, library, &StepFitRow::publisher, fit_without_publisher,
                                            &StepOutcome::left_out_s);
  leave_each_out(*steps, rows, library, &StepFitRow::architecture, fit_without_architecture,
                 &StepOutcome::other_architectures_s);
  return std::move(report);
}

Result<std::vector<SourceText>> step_scenarios(const std::string& folder, const std::optional<std::string>& table,
                                               const std::string& into) {
  const Result<SourceText> rows = read_text_file(table.value_or(folder + "/rows.csv"));
  if (!rows) return rows.diagnostics();
  Result<std::vector<StepCase>> cases = read_step_cases(*rows);
  if (!cases) return cases.diagnostics();
  const Result<StepLegend> legend = read_step_legend(folder);
  if (!legend) return legend.diagnostics();
  std::vector<SourceText> scenarios;
  for (StepCase& one : *cases) {
    if (!one.excluded.empty()) continue;
    std::string name = one.publisher + '-' + one.row;
    std::replace(name.begin(), name.end(), '#', '-');
    if (one.model.ends_with(".toml")) {
      const std::filesystem::path model = std::filesystem::path(folder) / one.model;
      one.model = std::filesystem::absolute(model).lexically_relative(std::filesystem::absolute(into)).generic_string();
    }
    Result<SourceText> scenario = step_scenario(one, *legend, into + '/' + name + ".toml");
    if (!scenario) return scenario.diagnostics();
    scenarios.push_back(*std::move(scenario));
  }
  return scenarios;
}

std::optional<Diagnostic> write_step_scenarios(const std::string& folder, const std::optional<std::string>& table,
                                              const std::string& into) {
  const Result<std::vector<SourceText>> scenarios = step_scenarios(folder, table, into);
  if (!scenarios) return scenarios.diagnostics().front();
  std::error_code problem;
  std::filesystem::create_directories(into, problem);
  for (const SourceText& scenario : *scenarios) {
    if (const auto failed = write_file(scenario.file, scenario.text)) return failed;
  }
  return std::nullopt;
}

}  // namespace takt
