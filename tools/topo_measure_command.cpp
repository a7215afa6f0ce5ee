// takt topo measure-compare: a log of p2pBandwidthLatencyTest against a topology.
#include "commands.hpp"
#include "config/library.hpp"
#include "measured_state.hpp"
#include "report/p2p_comparison.hpp"
#include "topology/import/p2p_log.hpp"

#include <ostream>

namespace takt {
namespace {

ExitStatus compare(const P2pLog& log, const ServerSpec& server, Library& library, const Environment& environment) {
  std::size_t shown = 0;
  for (const P2pMatrix& matrix : log.matrices) {
    if (matrix.measure == P2pMeasure::latency) continue;
    const PeerState state = matrix.access == P2pAccess::on ? PeerState::on : PeerState::off;
    const Result<Topology> topology = topology_in_state(server, state, library);
    if (!topology) {
      environment.err << render(topology.diagnostics());
      return ExitStatus::invalid;
    }
    const Result<std::string> text = p2p_comparison(matrix, *topology);
    environment.err << render(text.diagnostics());
    if (!text) return ExitStatus::invalid;
    environment.out << (shown++ > 0 ? "\n" : "") << *text;
  }
  if (shown < log.matrices.size()) environment.out << "\nlatencies are not compared\n";
  return ExitStatus::done;
}

ExitStatus measure_compare(const ParsedOptions& options, const Environment& environment) {
  const std::optional<std::string> name = options.value("topology");
  if (options.arguments.size() != 1 || !name) {
    environment.err << render(usage_error("which log, and which machine?", "FILE --topology SERVER"));
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  SourcePlace asked_at;
  asked_at.file = "command line";
  const Result<SourceText> text = read_text_file(options.arguments.front());
  const Result<ServerSpec> server = library.server(*name, asked_at);
  environment.err << render(text.diagnostics()) << render(server.diagnostics());
  if (!text || !server) return ExitStatus::invalid;
  const Result<P2pLog> log = read_p2p_log(*text);
  environment.err << render(log.diagnostics());
  return log ? compare(*log, *server, library, environment) : ExitStatus::invalid;
}

}  // namespace

Command topo_measure_compare_command() {
  return {
      "topo measure-compare",
      "FILE",
      "a p2pBandwidthLatencyTest log against the predictions",
      "Compares the bandwidth matrices of a log of CUDA's p2pBandwidthLatencyTest with what a server file predicts, "
      "cell by cell, and names the pairs that are off. The log's devices are the server's cards in order.",
      {{"topology", "SERVER", "the machine: a file of topologies/servers, or a path", {}}},
      "takt topo measure-compare p2p.log --topology 4x-h200-nvl-4-way-bridge",
      measure_compare};
}

}  // namespace takt
