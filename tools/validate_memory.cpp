#include "config/reader.hpp"
#include "pipeline.hpp"
#include "report/memory_validation.hpp"
#include "validation.hpp"

#include <fmt/format.h>
#include <utility>

namespace takt {
namespace {

/// Rows that leave by this rule are held against the range of reserved memory.
constexpr const char* reserved_rule = "reserved";

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

}  // namespace

Result<ValidatedPart> validate_memory(const ValidationRows& rows, Library& library) {
  const Result<SourceText> text = read_text_file(rows.file("rows.csv"));
  if (!text) return text.diagnostics();
  const Result<std::vector<StepCase>> cases = read_step_cases(*text);
  if (!cases) return cases.diagnostics();
  const Result<StepLegend> legend = read_step_legend(rows.folder);
  if (!legend) return legend.diagnostics();
  SharedParts parts(library);
  MemoryReport report;
  report.rules = legend->rules;
  for (const StepCase& one : *cases) {
    const bool reserved = one.excluded == reserved_rule;
    if (!one.excluded.empty() && !reserved) {
      report.excluded.push_back(one);
      continue;
    }
    MemoryOutcome outcome;
    outcome.row = one;
    outcome.measure = reserved ? MemoryMeasure::reserved : MemoryMeasure::allocated;
    const std::optional<Bytes> measured = measured_bytes(one);
    if (!measured) {
      SourcePlace place;
      place.file = text->file;
      return Diagnostic{Severity::error, place, fmt::format("row {} has no peak of memory in a known unit", one.row),
                        "units are bytes, MB, MiB, GB and GiB"};
    }
    outcome.measured = *measured;
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
