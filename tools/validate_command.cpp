// takt validate: what was measured against what Takt predicts.
#include "commands.hpp"
#include "config/library.hpp"
#include "measured_state.hpp"
#include "report/link_validation.hpp"

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

ExitStatus validate(const ParsedOptions& options, const Environment& environment) {
  if (!options.has("links") || !options.arguments.empty()) {
    environment.err << render(usage_error("validate what?", "takt validate --links"));
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  const std::string folder = search_path(environment.takt_path).folders.back() + "/validation/links";
  const Result<std::vector<LinkOutcome>> outcomes = outcomes_of(folder, library);
  const Result<std::vector<LinkExclusion>> exclusions = exclusions_of(folder);
  environment.err << render(outcomes.diagnostics()) << render(exclusions.diagnostics());
  if (!outcomes || !exclusions) return ExitStatus::invalid;
  environment.out << link_validation_table(*outcomes, *exclusions);
  return ExitStatus::done;
}

}  // namespace

Command validate_command() {
  return {
      "validate",
      "",
      "what was measured against what Takt predicts",
      "Predicts published measurements and prints the errors. --links: copies and posted writes between cards, alone "
      "and several at once, on machines of validation/links; reads and collapses are listed as not modelled.",
      {{"links", "", "transfers between cards (p2pBandwidthLatencyTest and contention tables)", {}}},
      "takt validate --links",
      validate};
}

}  // namespace takt
