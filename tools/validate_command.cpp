// takt validate: what was measured against what Takt predicts.
#include "commands.hpp"
#include "config/library.hpp"
#include "measured_state.hpp"
#include "pipeline.hpp"
#include "report/link_validation.hpp"
#include "report/overlap_validation.hpp"

#include <ostream>

namespace takt {
namespace {

Result<Topology> topology_of(const LinkCase& row, const std::string& folder, Library& library) {
  SourcePlace asked_at;
  asked_at.file = "command line";
  const Result<ServerSpec> server = library.server(folder + "/" + row.server + ".toml", asked_at);
  if (!server) return server.diagnostics();
  return topology_in_state(*server, row.state, library);
}

Result<std::vector<LinkOutcome>> outcomes_of(const std::string& folder, Library& library) {
  const Result<SourceText> text = read_text_file(folder + "/cases.csv");
  if (!text) return text.diagnostics();
  const Result<std::vector<LinkCase>> cases = read_link_cases(*text);
  if (!cases) return cases.diagnostics();
  std::map<std::pair<std::string, PeerState>, Topology> topologies;
  std::vector<LinkOutcome> outcomes;
  for (const LinkCase& row : *cases) {
    auto found = topologies.find({row.server, row.state});
    if (found == topologies.end()) {
      Result<Topology> topology = topology_of(row, folder, library);
      if (!topology) return topology.diagnostics();
      found = topologies.emplace(std::pair(row.server, row.state), *std::move(topology)).first;
    }
    outcomes.push_back({row, throughput_of_equal_copies(found->second, row.transfers)});
  }
  return outcomes;
}

Result<std::vector<LinkExclusion>> exclusions_of(const std::string& folder) {
  const Result<SourceText> text = read_text_file(folder + "/excluded.csv");
  if (!text) return text.diagnostics();
  return read_link_exclusions(*text);
}

ExitStatus validate_links(const std::string& folder, const Environment& environment, Library& library) {
  const Result<std::vector<LinkOutcome>> outcomes = outcomes_of(folder, library);
  const Result<std::vector<LinkExclusion>> exclusions = exclusions_of(folder);
  environment.err << render(outcomes.diagnostics()) << render(exclusions.diagnostics());
  if (!outcomes || !exclusions) return ExitStatus::invalid;
  environment.out << link_validation_table(*outcomes, *exclusions);
  return ExitStatus::done;
}

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
      if (finished) outcome.predicted = finished->result.metrics.communication.overlap_ratio;
      else outcome.not_predicted = finished.diagnostics().front().message;
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

ExitStatus validate_overlap(const std::string& folder, const Environment& environment, Library& library) {
  const Result<std::vector<InterferenceOutcome>> kernels = interference_outcomes(folder, library);
  const Result<std::vector<RunOutcome>> runs = run_outcomes(folder, library);
  environment.err << render(kernels.diagnostics()) << render(runs.diagnostics());
  if (!kernels || !runs) return ExitStatus::invalid;
  environment.out << overlap_validation_table(*kernels, *runs);
  return ExitStatus::done;
}

ExitStatus validate(const ParsedOptions& options, const Environment& environment) {
  const bool one = options.has("links") != options.has("overlap");
  if (!one || !options.arguments.empty()) {
    environment.err << render(usage_error("validate what?", "takt validate --links, or takt validate --overlap"));
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  const std::string folder = search_path(environment.takt_path).folders.back() + "/validation";
  if (options.has("links")) return validate_links(folder + "/links", environment, library);
  return validate_overlap(folder + "/overlap", environment, library);
}

}  // namespace

Command validate_command() {
  return {
      "validate",
      "",
      "what was measured against what Takt predicts",
      "Predicts published measurements and prints the errors. --links: copies and posted writes between cards, alone "
      "and several at once, on machines of validation/links; reads and collapses are listed as not modelled. "
      "--overlap: what kernels keep while thread blocks hold SMs or copies use the memory, and how much communication "
      "published steps hide (validation/overlap).",
      {{"links", "", "transfers between cards (p2pBandwidthLatencyTest and contention tables)", {}},
       {"overlap", "", "kernels beside communication, and communication that steps hide", {}}},
      "takt validate --links",
      validate};
}

}  // namespace takt
