// takt topo import: what people have of their machine, as a server file.
#include "commands.hpp"
#include "config/library.hpp"
#include "config/server_writer.hpp"
#include "output_file.hpp"
#include "topology/import/import.hpp"
#include "topology/topology.hpp"

#include <algorithm>
#include <ostream>

namespace takt {
namespace {

/// All cards and link types that Takt knows. Errors: a broken card or link file.
Result<ImportOptions> import_options(const ParsedOptions& options, Library& library) {
  SourcePlace asked_at;
  asked_at.file = "command line";
  ImportOptions result{options.value("card").value_or(""), options.value("cpu").value_or(""), {}, {}};
  if (!result.card.empty()) {
    const Result<CardSpec> card = library.card(result.card, asked_at);
    if (!card) return card.diagnostics();
    result.card = card->id;
    result.cards.emplace(card->id, *card);
  }
  for (const std::string& name : library.card_names()) {
    const Result<CardSpec> card = library.card(name, asked_at);
    if (!card) return card.diagnostics();
    result.cards.emplace(card->id, *card);
  }
  const auto types = library.link_types();
  if (!types) return types.diagnostics();
  result.link_types = *types;
  return result;
}

/// Builds what was imported, so that a machine that cannot run is refused here and not in the first scenario.
Diagnostics trial(const ServerSpec& server, const ImportOptions& options) {
  const bool cards_known = std::all_of(server.devices.begin(), server.devices.end(), [&](const DeviceSpec& device) {
    return device.kind != DeviceKind::card || options.cards.count(device.card) > 0;
  });
  if (!cards_known) return {};
  return build_topology(server, options.cards, LinkBasis::measured).diagnostics();
}

ExitStatus import(const ParsedOptions& options, const Environment& environment) {
  if (options.arguments.size() != 1) {
    environment.err << render(usage_error("which file?", "name one file: nvidia-smi topo -m, NCCL or lstopo XML"));
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  const Result<SourceText> text = read_text_file(options.arguments.front());
  const Result<ImportOptions> known = import_options(options, library);
  environment.err << render(text.diagnostics()) << render(known.diagnostics());
  if (!text || !known) return ExitStatus::invalid;
  const Result<ServerSpec> server = import_server(*text, *known);
  environment.err << render(server.diagnostics());
  if (!server) return ExitStatus::invalid;
  const Diagnostics tried = trial(*server, *known);
  environment.err << render(tried);
  if (has_error(tried)) return ExitStatus::invalid;
  const std::string file = write_server(*server, known->link_types);
  if (const std::optional<std::string> path = options.value("out")) {
    const std::optional<Diagnostic> failure = write_file(*path, file);
    if (failure) environment.err << render(*failure);
    return failure ? ExitStatus::invalid : ExitStatus::done;
  }
  environment.out << file;
  return ExitStatus::done;
}

}  // namespace

Command topo_import_command() {
  return {"topo import",
          "FILE",
          "a server file from what you have of a machine",
          "Reads the text of `nvidia-smi topo -m`, an NCCL topology file (NCCL_TOPO_DUMP_FILE) or the XML of `lstopo "
          "--of xml`, and prints a server file that says what is known and what is assumed.",
          {{"card", "ID", "the cards, where the file does not name them, e.g. h200-nvl", {}},
           {"cpu", "FAMILY", "the CPUs, where the file does not name them, e.g. intel-emr", {}},
           {"out", "FILE", "write the server file here instead of to standard output", {}}},
          "takt topo import topo.txt --card h200-nvl --out my-server.toml",
          import};
}

}  // namespace takt
