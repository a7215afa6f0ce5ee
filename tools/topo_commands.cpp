// takt topo show, takt topo check.
#include "commands.hpp"
#include "config/library.hpp"
#include "named_topology.hpp"
#include "report/report.hpp"

#include <ostream>

namespace takt {
namespace {

std::vector<Option> topology_options() {
  return {{"links", "BASIS", "capacities of links (default measured)", {"measured", "nominal"}}};
}

/// Builds each topology that the line names, and hands it to `tell`, whose text goes to environment.out.
ExitStatus for_each_topology(const ParsedOptions& options, const Environment& environment,
                             std::string (*tell)(const Topology&)) {
  if (options.arguments.empty()) {
    environment.err << render(usage_error("which topology?", "name a file of topologies/, or a path"));
    return ExitStatus::wrong_usage;
  }
  const LinkBasis basis = options.value("links") == "nominal" ? LinkBasis::nominal : LinkBasis::measured;
  Library library(search_path(environment.takt_path));
  ExitStatus status = ExitStatus::done;
  for (const std::string& name : options.arguments) {
    SourcePlace asked_at;
    asked_at.file = "command line";
    const Result<Topology> topology = named_topology(name, asked_at, basis, library);
    environment.err << render(topology.diagnostics());
    if (topology) {
      environment.out << tell(*topology);
    } else {
      status = ExitStatus::invalid;
    }
  }
  return status;
}

std::string findings(const Topology& topology) {
  const Diagnostics found = check_topology(topology);
  return found.empty() ? topology.id() + ": nothing to remark\n" : render(found);
}

ExitStatus show(const ParsedOptions& options, const Environment& environment) {
  return for_each_topology(options, environment, topology_table);
}

ExitStatus check(const ParsedOptions& options, const Environment& environment) {
  return for_each_topology(options, environment, findings);
}

}  // namespace

Command topo_show_command() {
  return {"topo show",
          "TOPOLOGY...",
          "devices, path types and bandwidths of a machine",
          "Shows the devices of a server or cluster, how its cards reach each other, nominal and effective bandwidths, "
          "and what its file assumes.",
          topology_options(),
          "takt topo show 8x-h200-nvl-two-4-way-bridges",
          show};
}

Command topo_check_command() {
  return {"topo check",
          "TOPOLOGY...",
          "what an engineer would remark on",
          "Builds a server or cluster and prints remarks: bridges across sockets, shared uplinks, slow links.",
          topology_options(),
          "takt topo check 8x-rtx-pro-6000-server-4-switches",
          check};
}

}  // namespace takt
