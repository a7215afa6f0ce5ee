// takt validate: what was measured against what Takt predicts.
#include "commands.hpp"
#include "config/library.hpp"
#include "measured_state.hpp"
#include "report/kernel_validation.hpp"
#include "report/link_validation.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <ostream>

namespace takt {
namespace {

/// A part's report, and whether its summaries stay within their recorded bounds.
struct ValidatedPart {
  std::string text;
  bool is_within_bounds = true;
};

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
    LinkOutcome outcome{row, {}};
    for (const Bandwidth rate : copy_rates(found->second, row.transfers)) outcome.predicted += rate;
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

/// What a part of the validation prints, or why it could not.
using Part = Result<ValidatedPart> (*)(const std::string& folder, Library& library);

Result<ValidatedPart> validate_links(const std::string& folder, Library& library) {
  const Result<std::vector<LinkOutcome>> outcomes = outcomes_of(folder + "/links", library);
  if (!outcomes) return outcomes.diagnostics();
  return ValidatedPart{link_validation_table(*outcomes), true};
}

Result<ValidatedPart> validate_kernels(const std::string& folder, Library& library) {
  const Result<SourceText> text = read_text_file(folder + "/kernels/gemm.csv");
  if (!text) return text.diagnostics();
  const Result<std::vector<GemmPoint>> points = read_gemm_points(*text);
  if (!points) return points.diagnostics();
  std::map<std::string, CardSpec> cards;
  Diagnostics errors;
  for (const GemmPoint& point : *points) {
    if (cards.count(point.card) > 0) continue;
    const Result<CardSpec> card = library.card(point.card, SourcePlace{text->file, 0, 0, ""});
    if (!card) errors.insert(errors.end(), card.diagnostics().begin(), card.diagnostics().end());
    cards.emplace(point.card, card ? *card : CardSpec{});
  }
  if (!errors.empty()) return errors;
  const auto scores = score_gemm(*points, [&cards](const std::string& id) -> const CardSpec& { return cards.at(id); });
  return ValidatedPart{kernel_validation_table(scores), std::all_of(scores.begin(), scores.end(), is_within_bounds)};
}

struct NamedPart {
  const char* option;
  Part part;
};
constexpr NamedPart parts[] = {{"links", validate_links}, {"kernels", validate_kernels}};

ExitStatus validate(const ParsedOptions& options, const Environment& environment) {
  const auto asked = [&options](const NamedPart& part) { return options.has(part.option); };
  if (std::none_of(std::begin(parts), std::end(parts), asked) || !options.arguments.empty()) {
    environment.err << render(usage_error("validate what?", "takt validate --links, or see takt validate --help"));
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  const std::string folder = search_path(environment.takt_path).folders.back() + "/validation";
  ExitStatus status = ExitStatus::done;
  const char* separator = "";
  for (const NamedPart& named : parts) {
    if (!asked(named)) continue;
    const Result<ValidatedPart> part = named.part(folder, library);
    environment.err << render(part.diagnostics());
    if (!part) return ExitStatus::invalid;
    environment.out << separator << part->text;
    separator = "\n";
    if (!part->is_within_bounds) status = ExitStatus::invalid;
  }
  return status;
}

}  // namespace

Command validate_command() {
  return {
      "validate",
      "",
      "what was measured against what Takt predicts",
      "Predicts published measurements and prints the errors. --links: copies and posted writes between cards, alone "
      "and several at once, on machines of validation/links; reads and collapses are listed as not modelled. "
      "--kernels: measured matrix products. Exit status 1 if a summary leaves its recorded bound.",
      {{"links", "", "transfers between cards (p2pBandwidthLatencyTest and contention tables)", {}},
       {"kernels", "", "matrix products on four cards, refitted without what is scored", {}}},
      "takt validate --links",
      validate};
}

}  // namespace takt
