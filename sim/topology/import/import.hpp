// Server files from what people already have: the text of `nvidia-smi topo -m`, NCCL's topology XML, `lstopo --of xml`.
//
// Every importer returns a ServerSpec that says what is known from the source, what is assumed and why
// (ServerSpec::assumed and LinkSpec::assumed), and warnings for what looks odd. What cannot be read is refused with
// the line and the reason: a partial guess about a machine would answer the wrong question.
#pragma once

#include "base/result.hpp"
#include "config/card_spec.hpp"
#include "config/hardware_spec.hpp"

#include <map>
#include <string>

namespace takt {

/// What the user says beside the file, and the data files that turn names into numbers.
struct ImportOptions {
  std::string card;  ///< card id of every card (--card); empty: what the source says
  std::string cpu;   ///< CPU family of every socket (--cpu), e.g. "intel-emr"; empty: what the source says, or assumed
  std::map<std::string, CardSpec> cards;       ///< known cards; an unknown one imports with a warning
  std::map<std::string, LinkType> link_types;  ///< topologies/links.toml
};

/// `nvidia-smi topo -m`. Errors: no matrix, a cell that is no path type, a row that ends early, two cards whose
/// relation no row states, no --card.
Result<ServerSpec> import_nvidia_smi(const SourceText& source, const ImportOptions& options);

/// NCCL_TOPO_FILE / NCCL_TOPO_DUMP_FILE. Errors: no XML, no <system>, no card among the PCI devices, a number that is
/// none, a card that neither the file nor --card names, a bus id twice.
Result<ServerSpec> import_nccl_xml(const SourceText& source, const ImportOptions& options);

/// `lstopo --of xml` (hwloc 2 and 3). Errors: no XML, no <topology>, no package or NUMA node, no card.
Result<ServerSpec> import_lstopo(const SourceText& source, const ImportOptions& options);

/// Whichever of the three the text is.
Result<ServerSpec> import_server(const SourceText& source, const ImportOptions& options);

}  // namespace takt
