// What an importer has found, before link types and assumptions turn it into a ServerSpec.
//
// All three sources describe the same thing: sockets, a PCIe tree under each, NVLinks between cards. They differ in
// what they leave out. An importer fills a ServerDraft with what its source states; finish_server() adds the rest, and
// each addition becomes a line of ServerSpec::assumed.
#pragma once

#include "topology/import/import.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace takt {

struct SocketDraft {
  std::string name;        ///< "cpu0"
  std::string cpu;         ///< CPU family; empty: unknown
  std::int64_t cores = 0;  ///< 0: unknown
  Bytes memory{};          ///< 0: unknown
};

/// A switch, card or NIC and its PCIe link to its parent.
struct DeviceDraft {
  std::string name;
  DeviceKind kind = DeviceKind::card;
  std::string parent;                   ///< a socket or a switch
  std::string card;                     ///< card id as the source tells it; empty: unknown
  std::int64_t compute_capability = 0;  ///< 90 for 9.0; 0: unknown
  std::int64_t pcie_generation = 0;     ///< of the link to the parent; 0: unknown
  std::int64_t pcie_lanes = 0;          ///< 0: unknown
  std::int64_t host_bridge = 0;         ///< of the parent, if that is a socket; 0: unknown
  Bandwidth nic_speed{};                ///< 0: unknown
};

/// NVLinks between two cards (numbers in card order), or from a card to the NVSwitches.
struct NvlinkDraft {
  std::int64_t card = 0;
  std::int64_t peer = 0;   ///< -1: NVSwitch
  std::int64_t count = 0;  ///< links
};

struct ServerDraft {
  std::string title;
  std::string source;  ///< what the file is, e.g. "nvidia-smi topo -m"
  std::vector<SocketDraft> sockets;
  std::vector<DeviceDraft> devices;  ///< parents before children, cards in card order among them
  std::vector<NvlinkDraft> nvlinks;  ///< each pair once
  bool nvlinks_known = true;         ///< false: the source has no room for NVLinks
  std::vector<std::string> assumed;
  Diagnostics warnings;
};

/// The server file's contents. `place` is where the source as a whole is blamed.
/// Errors: no card id for a card.
Result<ServerSpec> finish_server(ServerDraft draft, const SourcePlace& place, const ImportOptions& options);

/// The stem of a path: "boxes/dgx.xml" -> "dgx".
std::string stem_of(const std::string& path);

}  // namespace takt
