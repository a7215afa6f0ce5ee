// takt validate: what was measured against what Takt predicts.
#include "commands.hpp"
#include "config/library.hpp"
#include "measured_state.hpp"
#include "report/link_validation.hpp"
#include "validate_collectives.hpp"

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
    LinkOutcome outcome{row, {}};
    for (const Bandwidth rate : copy_rates(found->second, row.transfers)) outcome.predicted += rate;
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

ExitStatus validate_links(const std::string& folder, Library& library, const Environment& environment) {
  const Result<std::vector<LinkOutcome>> outcomes = outcomes_of(folder, library);
  environment.err << render(outcomes.diagnostics());
  if (!outcomes) return ExitStatus::invalid;
  environment.out << link_validation_table(*outcomes);
  return ExitStatus::done;
}

ExitStatus validate_nccl(const std::string& folder, LeaveOut left_out, Library& library,
                         const Environment& environment) {
  const Result<std::vector<CollectiveOutcome>> outcomes = validate_collectives(folder, library, left_out);
  environment.err << render(outcomes.diagnostics());
  if (!outcomes) return ExitStatus::invalid;
  environment.out << collective_validation_text(*outcomes);
  const std::vector<std::string> broken = broken_bounds(*outcomes);
  for (const std::string& line : broken) environment.err << "a recorded bound is left: " << line << '\n';
  return broken.empty() ? ExitStatus::done : ExitStatus::invalid;
}

ExitStatus validate(const ParsedOptions& options, const Environment& environment) {
  const bool links = options.has("links"), collectives = options.has("collectives");
  if (links == collectives || !options.arguments.empty() || (options.has("leave-one-out") && !collectives)) {
    environment.err << render(
        usage_error("validate what?", "takt validate --links, or --collectives [--leave-one-out]"));
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  const std::string folder = search_path(environment.takt_path).folders.back() + "/validation/";
  if (links) return validate_links(folder + "links", library, environment);
  const LeaveOut left_out = options.has("leave-one-out") ? LeaveOut::each_machine : LeaveOut::nothing;
  return validate_nccl(folder + "collectives", left_out, library, environment);
}

}  // namespace

Command validate_command() {
  return {
      "validate",
      "",
      "what was measured against what Takt predicts",
      "Predicts published measurements and prints the errors. --links: copies and posted writes between cards, alone "
      "and several at once, on machines of validation/links; reads and collapses are listed as not modelled. "
      "--collectives: "
      "nccl-tests and alike on machines of validation/collectives; status 1 if a recorded bound is left.",
      {{"links", "", "transfers between cards (p2pBandwidthLatencyTest and contention tables)", {}},
       {"collectives", "", "all-gathers, reduce-scatters and all-reduces, by table and class", {}},
       {"leave-one-out", "", "with --collectives: also with constants fitted without each machine in turn", {}}},
      "takt validate --links",
      validate};
}

}  // namespace takt
