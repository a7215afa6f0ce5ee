#include "config/csv.hpp"
#include "pipeline.hpp"
#include "report/overlap_validation.hpp"
#include "validation.hpp"

#include <filesystem>
#include <utility>

namespace takt {
namespace {

Kernel kernel_of(const InterferenceCase& row, const KernelPricer& pricer) {
  constexpr Bytes triad{12'000'000'000};  // any length: it is bound by memory throughout
  if (!row.gemm) return pricer.memory("triad", triad);
  return pricer.gemm("gemm", (*row.gemm)[0], (*row.gemm)[1], (*row.gemm)[2], Precision::bf16);
}

Result<std::vector<InterferenceOutcome>> interference_outcomes(const SourceText& text, Library& library) {
  const Result<std::vector<InterferenceCase>> cases = read_interference_cases(text);
  if (!cases) return cases.diagnostics();
  std::vector<InterferenceOutcome> outcomes;
  for (const InterferenceCase& row : *cases) {
    InterferenceOutcome outcome{row, 0.0};
    if (row.not_modelled.empty()) {
      const Result<CardSpec> card = library.card(row.card, row.place);
      if (!card) return card.diagnostics();
      const KernelPricer pricer(*card, ComputeBasis::measured);
      const Result<double> kept = kept_throughput(kernel_of(row, pricer), *card, row.interference, Assumptions{});
      if (!kept) return kept.diagnostics();
      outcome.predicted = *kept;
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

/// Scenarios lie beside the rows.
Result<SourceText> scenario_of(const RunCase& row) {
  const std::filesystem::path folder = std::filesystem::path(row.place.file).parent_path();
  Result<SourceText> scenario = read_text_file((folder / row.scenario).string());
  if (scenario) return scenario;
  const Diagnostic& why = scenario.diagnostics().front();
  return Diagnostic{Severity::error, place_of_cell(row.place, 0),
                    "scenario " + why.place.file + ": " + why.message, "name a file beside this table"};
}

/// A step that cannot run says why in the table. Errors: every scenario that cannot be read.
Result<std::vector<RunOutcome>> run_outcomes(const SourceText& text, Library& library) {
  const Result<std::vector<RunCase>> cases = read_run_cases(text);
  if (!cases) return cases.diagnostics();
  std::vector<RunOutcome> outcomes;
  Diagnostics errors;
  for (const RunCase& row : *cases) {
    RunOutcome outcome{row, {}, {}};
    if (row.not_modelled.empty()) {
      const Result<SourceText> scenario = scenario_of(row);
      if (!scenario) {
        errors.push_back(scenario.diagnostics().front());
        continue;
      }
      const Result<FinishedRun> finished = run(*scenario, {}, library, {});
      if (finished)
        outcome.predicted = finished->result.metrics.communication.overlap_ratio;
      else
        outcome.not_predicted = finished.diagnostics().front().message;
    }
    outcomes.push_back(std::move(outcome));
  }
  if (!errors.empty()) return errors;
  return outcomes;
}

}  // namespace

Result<ValidatedPart> validate_overlap(const ValidationRows& rows, Library& library) {
  const Result<SourceText> kernel_text = read_text_file(rows.file("cases.csv"));
  if (!kernel_text) return kernel_text.diagnostics();
  const Result<SourceText> run_text = read_text_file(rows.file("runs.csv"));
  if (!run_text) return run_text.diagnostics();
  // A user's table has one kind of rows, which its columns tell.
  const bool only_runs = rows.table && has_columns(*run_text, run_columns);
  Result<std::vector<InterferenceOutcome>> kernels = std::vector<InterferenceOutcome>();
  Result<std::vector<RunOutcome>> runs = std::vector<RunOutcome>();
  if (!only_runs) kernels = interference_outcomes(*kernel_text, library);
  if (!rows.table || only_runs) runs = run_outcomes(*run_text, library);
  if (!kernels) return kernels.diagnostics();
  if (!runs) return runs.diagnostics();
  return ValidatedPart{overlap_validation_table(*kernels, *runs), {}, overlap_rows_csv(*kernels, *runs)};
}

}  // namespace takt
