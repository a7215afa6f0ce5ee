#include "measured_state.hpp"
#include "report/link_validation.hpp"
#include "validation.hpp"

#include <map>
#include <utility>

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

}  // namespace

Result<ValidatedPart> validate_links(const std::string& folder, Library& library) {
  const Result<std::vector<LinkOutcome>> outcomes = outcomes_of(folder, library);
  if (!outcomes) return outcomes.diagnostics();
  const Result<std::vector<LinkExclusion>> exclusions = exclusions_of(folder);
  if (!exclusions) return exclusions.diagnostics();
  return ValidatedPart{link_validation_table(*outcomes, *exclusions), {}};
}

}  // namespace takt
