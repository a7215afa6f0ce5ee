#include "config/reader.hpp"
#include "pipeline.hpp"
#include "report/memory_validation.hpp"
#include "validation.hpp"

#include <utility>

namespace takt {
namespace {

/// Runs a row's scenario; whatever is wrong with it goes into the outcome.
void predict(MemoryOutcome& outcome, const SourceText& scenario, SharedParts& parts) {
  Result<PreparedRun> prepared = prepare(read_scenario(scenario, {}), parts);
  if (!prepared) {
    outcome.not_predicted = prepared.diagnostics().front().message;
    return;
  }
  const Result<FinishedRun> finished = finish_run(*std::move(prepared), {});
  if (!finished) {
    outcome.not_predicted = finished.diagnostics().front().message;
    return;
  }
  const MemoryMetrics& memory = finished->result.metrics.memory;
  outcome.predicted = memory.peak;
  outcome.reserved = memory.use.reserved;
  outcome.peak_op = memory.peak_op;
}

/// Whether a row is held against a prediction.
bool is_compared(const StepCase& row) {
  return row.excluded.empty() || row.excluded == reserved_rule;
}

/// What is wrong with what the rows say of their memory.
Diagnostics wrong_cells(const std::vector<StepCase>& cases) {
  Diagnostics errors;
  for (const StepCase& one : cases) {
    if (!is_compared(one)) continue;
    for (Diagnostic& wrong : wrong_memory_cells(one)) errors.push_back(std::move(wrong));
  }
  return errors;
}

}  // namespace

Result<ValidatedPart> validate_memory(const ValidationRows& rows, Library& library) {
  const Result<SourceText> text = read_text_file(rows.file("rows.csv"));
  if (!text) return text.diagnostics();
  const Result<std::vector<StepCase>> cases = read_step_cases(*text);
  if (!cases) return cases.diagnostics();
  const Result<StepLegend> legend = read_step_legend(rows.folder);
  if (!legend) return legend.diagnostics();
  SharedParts parts(library);
  if (Diagnostics wrong = wrong_cells(*cases); !wrong.empty()) return wrong;
  MemoryReport report;
  report.rules = legend->rules;
  for (const StepCase& one : *cases) {
    const bool reserved = one.excluded == reserved_rule;
    if (!is_compared(one)) {
      report.excluded.push_back(one);
      continue;
    }
    MemoryOutcome outcome;
    outcome.row = one;
    outcome.measure = reserved ? MemoryMeasure::reserved : MemoryMeasure::allocated;
    outcome.measured = measured_bytes(one).value();
    const Result<SourceText> scenario = step_scenario(one, *legend, rows.folder + "/" + one.row + ".toml");
    if (!scenario) return scenario.diagnostics();
    predict(outcome, *scenario, parts);
    report.outcomes.push_back(std::move(outcome));
  }
  std::vector<std::string> left;
  if (!rows.table) left = left_memory_bounds(report.outcomes);
  return ValidatedPart{memory_validation_text(report), std::move(left), memory_rows_csv(report)};
}

}  // namespace takt
