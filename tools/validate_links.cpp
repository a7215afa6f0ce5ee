#include "measured_state.hpp"
#include "report/link_validation.hpp"
#include "validation.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace takt {
namespace {

/// The server of a row: a file beside the project's cases, or else one that the library knows.
Result<Topology> topology_of(const LinkCase& row, const std::string& folder, Library& library) {
  const std::string beside = folder + "/" + row.server + ".toml";
  const Result<ServerSpec> server =
      library.server(std::filesystem::exists(beside) ? beside : row.server, row.place);
  if (!server) return server.diagnostics();
  return topology_in_state(*server, row.state, library);
}

/// Whether the machine has the cards that a row names.
std::optional<Diagnostic> missing_card(const LinkCase& row, const Topology& topology) {
  const auto cards = static_cast<std::int64_t>(topology.cards().size());
  const auto beyond = std::find_if(row.transfers.begin(), row.transfers.end(),
                                   [cards](const Transfer& one) { return std::max(one.from, one.to) >= cards; });
  if (beyond == row.transfers.end()) return std::nullopt;
  return Diagnostic{Severity::error, row.place,
                    fmt::format("there is no card {} in {}", std::max(beyond->from, beyond->to), row.server),
                    fmt::format("its cards are 0 to {}", cards - 1)};
}

Result<std::vector<LinkOutcome>> outcomes_of(const ValidationRows& rows, Library& library) {
  const Result<SourceText> text = read_text_file(rows.file("cases.csv"));
  if (!text) return text.diagnostics();
  const Result<std::vector<LinkCase>> cases = read_link_cases(*text);
  if (!cases) return cases.diagnostics();
  std::map<std::pair<std::string, PeerState>, Topology> topologies;
  std::vector<LinkOutcome> outcomes;
  for (const LinkCase& row : *cases) {
    auto found = topologies.find({row.server, row.state});
    if (found == topologies.end()) {
      Result<Topology> topology = topology_of(row, rows.folder, library);
      if (!topology) return topology.diagnostics();
      found = topologies.emplace(std::pair(row.server, row.state), *std::move(topology)).first;
    }
    if (std::optional<Diagnostic> missing = missing_card(row, found->second)) return *std::move(missing);
    outcomes.push_back({row, throughput_of_equal_copies(found->second, row.transfers)});
  }
  return outcomes;
}

/// Published rows that are compared with nothing; a user's table has none.
Result<std::vector<LinkExclusion>> exclusions_of(const ValidationRows& rows) {
  if (rows.table) return std::vector<LinkExclusion>();
  const Result<SourceText> text = read_text_file(rows.folder + "/excluded.csv");
  if (!text) return text.diagnostics();
  return read_link_exclusions(*text);
}

}  // namespace

Result<ValidatedPart> validate_links(const ValidationRows& rows, Library& library) {
  const Result<std::vector<LinkOutcome>> outcomes = outcomes_of(rows, library);
  if (!outcomes) return outcomes.diagnostics();
  const Result<std::vector<LinkExclusion>> exclusions = exclusions_of(rows);
  if (!exclusions) return exclusions.diagnostics();
  return ValidatedPart{link_validation_table(*outcomes, *exclusions), {}, link_rows_csv(*outcomes, *exclusions)};
}

}  // namespace takt
