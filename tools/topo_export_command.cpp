// takt topo export: a server or cluster in a form that other tools read.
#include "commands.hpp"
#include "config/library.hpp"
#include "config/server_writer.hpp"
#include "graphviz.hpp"
#include "machine_options.hpp"
#include "output_file.hpp"
#include "report/topology_export.hpp"

#include <ostream>

namespace takt {
namespace {

Result<std::string> exported(const Topology& topology, const std::string& format, Library& library) {
  if (format == "matrix") return topology_matrix(topology);
  if (format == "svg") return svg_of_dot(topology_dot(topology));
  if (format == "dot") return topology_dot(topology);
  const auto types = library.link_types();
  if (!types) return types.diagnostics();
  return write_server(topology.server_spec(), *types);
}

ExitStatus export_topology(const ParsedOptions& options, const Environment& environment) {
  if (options.arguments.size() != 1) {
    environment.err << render(usage_error("which topology?", "name one file of topologies/, or a path"));
    return ExitStatus::wrong_usage;
  }
  const Result<MachineState> state = machine_state_of(options);
  if (!state) {
    environment.err << render(state.diagnostics());
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  SourcePlace asked_at;
  asked_at.file = "command line";
  const Result<Topology> topology = named_topology(options.arguments.front(), asked_at, *state, library);
  environment.err << render(topology.diagnostics());
  if (!topology) return ExitStatus::invalid;
  const Result<std::string> text = exported(*topology, options.value("format").value_or("dot"), library);
  environment.err << render(text.diagnostics());
  if (!text) return ExitStatus::invalid;
  if (const std::optional<std::string> path = options.value("out")) {
    const std::optional<Diagnostic> failure = write_file(*path, *text);
    if (failure) environment.err << render(*failure);
    return failure ? ExitStatus::invalid : ExitStatus::done;
  }
  environment.out << *text;
  return ExitStatus::done;
}

std::vector<Option> export_options() {
  std::vector<Option> options = machine_options();
  options.insert(options.begin(), {"format", "FORMAT", "the form (default dot)", {"dot", "svg", "matrix", "toml"}});
  options.push_back({"out", "FILE", "write here instead of to standard output", {}});
  return options;
}

}  // namespace

Command topo_export_command() {
  return {"topo export",
          "TOPOLOGY",
          "a drawing, a matrix or a server file of a machine",
          "Writes a server or cluster as a Graphviz drawing (dot, or svg if Graphviz is installed), as the matrix that "
          "`nvidia-smi topo -m` prints, or as a server file.",
          export_options(),
          "takt topo export 8x-h200-sxm-hgx --format svg --out hgx.svg",
          export_topology};
}

}  // namespace takt
