// takt topo show, takt topo check.
#include "base/text.hpp"
#include "commands.hpp"
#include "config/library.hpp"
#include "machine_options.hpp"
#include "report/report.hpp"
#include "report/topology_route.hpp"

#include <ostream>

namespace takt {
namespace {

/// Builds each topology that the line names, and hands it to `tell`, whose text goes to environment.out.
ExitStatus for_each_topology(const ParsedOptions& options, const Environment& environment,
                             std::string (*tell)(const Topology&)) {
  if (options.arguments.empty()) {
    environment.err << render(usage_error("which topology?", "name a file of topologies/, or a path"));
    return ExitStatus::wrong_usage;
  }
  const Result<MachineState> state = machine_state_of(options);
  if (!state) {
    environment.err << render(state.diagnostics());
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  ExitStatus status = ExitStatus::done;
  for (const std::string& name : options.arguments) {
    SourcePlace asked_at;
    asked_at.file = "command line";
    const Result<Topology> topology = named_topology(name, asked_at, *state, library);
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

std::string overview(const Topology& topology) {
  const std::string bisection = bisection_line(topology);
  return topology_table(topology) + (bisection.empty() ? "" : "\n" + bisection);
}

/// The device of this name; without it an error that names a near one.
Result<VertexId> device_named(const std::string& name, const Topology& topology) {
  if (const std::optional<VertexId> vertex = topology.find(name)) return *vertex;
  std::vector<std::string> names;
  for (std::size_t v = 0; v < topology.device_count(); ++v) names.push_back(topology.device(id_at<VertexId>(v)).name);
  const std::optional<std::string> near = did_you_mean(name, names);
  return usage_error("there is no device '" + name + "' in " + topology.id(),
                     near ? "did you mean '" + *near + "'?" : "");
}

ExitStatus show_route(const ParsedOptions& options, const Environment& environment) {
  const std::optional<std::string> from = options.value("from");
  const std::optional<std::string> to = options.value("to");
  if (!from || !to || options.arguments.size() != 1) {
    environment.err << render(usage_error("a route needs one topology, --from and --to"));
    return ExitStatus::wrong_usage;
  }
  SourcePlace asked_at;
  asked_at.file = "command line";
  const Result<MachineState> state = machine_state_of(options);
  if (!state) {
    environment.err << render(state.diagnostics());
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  const Result<Topology> topology = named_topology(options.arguments.front(), asked_at, *state, library);
  environment.err << render(topology.diagnostics());
  if (!topology) return ExitStatus::invalid;
  const Result<VertexId> source = device_named(*from, *topology);
  const Result<VertexId> target = device_named(*to, *topology);
  environment.err << render(source.diagnostics()) << render(target.diagnostics());
  if (!source || !target) return ExitStatus::invalid;
  environment.out << route_table(*topology, *source, *target);
  return ExitStatus::done;
}

ExitStatus show(const ParsedOptions& options, const Environment& environment) {
  if (options.has("from") || options.has("to")) return show_route(options, environment);
  return for_each_topology(options, environment, overview);
}

std::vector<Option> show_options() {
  std::vector<Option> options = machine_options();
  options.push_back({"from", "DEVICE", "with --to: the route between two devices, its links and bottleneck", {}});
  options.push_back({"to", "DEVICE", "the other end of the route", {}});
  return options;
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
          "what its narrowest split can exchange, and what its file assumes. With --from and --to, one route.",
          show_options(),
          "takt topo show 8x-h200-nvl-two-4-way-bridges",
          show};
}

Command topo_check_command() {
  return {"topo check",
          "TOPOLOGY...",
          "what an engineer would remark on",
          "Builds a server or cluster and prints remarks: bridges across sockets, shared uplinks, slow links.",
          machine_options(),
          "takt topo check 8x-rtx-pro-6000-server-4-switches",
          check};
}

}  // namespace takt
