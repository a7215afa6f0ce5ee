#include "pipeline.hpp"
#include "report/overlap_validation.hpp"
#include "validation.hpp"

#include <utility>

namespace takt {
namespace {

Kernel kernel_of(const InterferenceCase& row, const KernelPricer& pricer) {
  constexpr Bytes triad{12'000'000'000};  // any length: it is bound by memory throughout
  if (!row.gemm) return pricer.memory("triad", triad);
  return pricer.gemm("gemm", (*row.gemm)[0], (*row.gemm)[1], (*row.gemm)[2], Precision::bf16);
}

Result<std::vector<InterferenceOutcome>> interference_outcomes(const std::string& folder, Library& library) {
  const Result<SourceText> text = read_text_file(folder + "/cases.csv");
  if (!text) return text.diagnostics();
  const Result<std::vector<InterferenceCase>> cases = read_interference_cases(*text);
  if (!cases) return cases.diagnostics();
  SourcePlace asked_at;
  asked_at.file = text->file;
  std::vector<InterferenceOutcome> outcomes;
  for (const InterferenceCase& row : *cases) {
    InterferenceOutcome outcome{row, 0.0};
    if (row.not_modelled.empty()) {
      const Result<CardSpec> card = library.card(row.card, asked_at);
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

/// A step that cannot run says why in the table.
Result<std::vector<RunOutcome>> run_outcomes(const std::string& folder, Library& library) {
  const Result<SourceText> text = read_text_file(folder + "/runs.csv");
  if (!text) return text.diagnostics();
  const Result<std::vector<RunCase>> cases = read_run_cases(*text);
  if (!cases) return cases.diagnostics();
  std::vector<RunOutcome> outcomes;
  for (const RunCase& row : *cases) {
    RunOutcome outcome{row, {}, {}};
    if (row.not_modelled.empty()) {
      const Result<SourceText> scenario = read_text_file(folder + "/" + row.scenario);
      if (!scenario) return scenario.diagnostics();
      const Result<FinishedRun> finished = run(*scenario, {}, library, {});
      if (finished)
        outcome.predicted = finished->result.metrics.communication.overlap_ratio;
      else
        outcome.not_predicted = finished.diagnostics().front().message;
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace

Result<ValidatedPart> validate_overlap(const std::string& folder, Library& library) {
  const Result<std::vector<InterferenceOutcome>> kernels = interference_outcomes(folder, library);
  if (!kernels) return kernels.diagnostics();
  const Result<std::vector<RunOutcome>> runs = run_outcomes(folder, library);
  if (!runs) return runs.diagnostics();
  return ValidatedPart{overlap_validation_table(*kernels, *runs), {}};
}

}  // namespace takt
