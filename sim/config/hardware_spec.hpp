// Servers and clusters as their data files state them: topologies/servers/*.toml, topologies/clusters/*.toml, and the
// kinds of links with their capacities, topologies/links.toml.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "config/source.hpp"

namespace takt {

enum class LinkKind { nvlink, nvswitch, pcie, socket, memory, network, fabric };
enum class DeviceKind { card, nvswitch, pcie_switch, socket, nic, network_switch, host_memory, nvme };

/// A kind of link as links.toml describes it, e.g. "pcie5-x16", "upi-spr", "xgmi3". Capacities are per direction.
struct LinkType {
  std::string id;
  LinkKind kind = LinkKind::pcie;
  std::int64_t generation = 0;                 ///< PCIe or NVLink generation; 0 where it has no meaning
  std::int64_t lanes = 0;                      ///< PCIe lanes or NVLinks
  Bandwidth nominal{};                         ///< what sizing guides count with
  Bandwidth effective{};                       ///< measured, copies and posted writes
  std::optional<Bandwidth> both_directions;    ///< measured cap of the sum of both directions
  Duration latency{};                          ///< one way
  std::string source;
  std::string confidence;
  SourcePlace place;
};

struct DeviceSpec {
  std::string name;                            ///< unique in the server, e.g. "gpu0", "cpu1", "sw2", "nic0"
  DeviceKind kind = DeviceKind::card;
  std::string card;                            ///< card id, for cards
  std::string cpu;                             ///< CPU family, for sockets: "intel-spr", "intel-emr", "amd-turin", ...
  Bytes host_memory{};                         ///< for sockets
  std::int64_t cores = 0;                      ///< for sockets
  std::int64_t pcie_lanes = 0;                 ///< for sockets; 0 = not stated
  Bandwidth nic_speed{};                       ///< for NICs, per direction, all ports; 0 = not stated
  SourcePlace place;
};

/// One link as a server file states it. Both directions have the given capacities. A link from a card to an NVSwitch
/// states ONE NVLink (lanes = 1) or nothing (nominal 0); the card's number of NVLinks multiplies it.
///
/// The reader adds links of its own: from a socket to its host memory (kind memory, type id "memory"), and from each
/// card of [nvswitch] to the device "nvswitch" (kind nvswitch; bandwidths of 0 unless the file names a type).
struct LinkSpec {
  std::string from;
  std::string to;
  /// Of links.toml, with what the server file overrides. A type of one NVLink ("nvlink4") with `lanes = 6` in the
  /// server file is six of them: nominal, effective and both_directions are multiplied before other overrides apply.
  LinkType type;
  bool assumed = false;                        ///< the file says that this link is an assumption
  SourcePlace place;
  std::int64_t host_bridge = 0;                ///< which of its socket's host bridges it hangs on; 0 = not stated
};

/// A full mesh of NVLinks between the cards of a bridge: each pair gets links-per-card / (cards - 1) of them.
struct BridgeSpec {
  std::vector<std::string> cards;
  /// ONE NVLink of the bridge (key `type`, e.g. "nvlink4"; lanes = 1); unset: the card's nominal rate and no latency.
  std::optional<LinkType> link;
  std::string source;
  SourcePlace place;
};

/// NCCL and peer-to-peer state of a server.
struct PeerToPeerSpec {
  bool enabled = true;                         ///< false: every transfer between cards is staged through host memory
  /// The farthest path type over which cards write to each other directly (nvidia-smi's names): "PIX", "PXB", "PHB",
  /// "SYS". NCCL's default is PXB (semantics N11).
  std::string level = "PXB";
  bool iommu = false;
  bool acs = false;
};

/// What of collectives a server's file forces or measured; with a source in the file.
struct NcclSpec {
  std::int64_t channels = 0;                   ///< CTAs of a ring; 0 = as NCCL's plan has it
  double rate = 1.0;                           ///< what NCCL's kernels reach here over what the runtime model says
  double latency = 1.0;                        ///< fixed times of collectives here over the runtime model's
  std::string source;
};

struct ServerSpec {
  std::string id;                              ///< the file's stem
  std::string title;
  std::vector<DeviceSpec> devices;             ///< cards in rank order among them
  std::vector<LinkSpec> links;
  std::vector<BridgeSpec> bridges;
  PeerToPeerSpec peer_to_peer;
  NcclSpec nccl;
  std::string source;
  std::string confidence;
  std::vector<std::string> assumed;            ///< what the file says is assumed, in words
  std::string file;
  SourcePlaces places;
};

enum class FabricKind { rail_optimised, fat_tree };

/// `count` equal servers joined by their NICs.
struct ClusterSpec {
  std::string id;
  std::string title;
  std::string server;                          ///< server id or path
  std::int64_t count = 1;
  FabricKind fabric = FabricKind::rail_optimised;
  Bandwidth nic_speed{};                       ///< per NIC and direction; 0 = as the server file says
  double oversubscription = 1.0;               ///< leaf downlinks over uplinks
  Duration switch_latency{};
  std::string source;
  std::string file;
  SourcePlaces places;
};

}  // namespace takt
