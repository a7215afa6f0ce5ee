// A server file as written, before its shorthands are expanded into devices and links.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/hardware_spec.hpp"
#include "config/key_table.hpp"

namespace takt {

/// [[socket]]. With memory_bandwidth it brings a host-memory device "<name> memory" and the link to it.
struct SocketEntry {
  DeviceSpec device;
  std::optional<Bandwidth> memory_bandwidth;
  SourcePlace place;
};

/// [[card]], [[switch]], [[nic]], [[nvme]]: devices that are little more than a name.
struct DeviceEntry {
  DeviceSpec device;
  SourcePlace place;
};

/// [cards]: `count` equal cards named gpu0, gpu1, ...
struct CardsEntry {
  std::int64_t count = 0;
  std::string card;
};

/// [[link]]. What is set here replaces what links.toml says of the type.
struct LinkEntry {
  std::string from;
  std::string to;
  std::string type;
  std::optional<std::int64_t> lanes;  ///< scales the type's bandwidths, e.g. six of "nvlink4"
  std::optional<Bandwidth> nominal;
  std::optional<Bandwidth> effective;
  std::optional<Bandwidth> both_directions;
  std::optional<Duration> latency;
  std::int64_t host_bridge = 0;
  std::string source;
  bool assumed = false;
  SourcePlace place;
};

/// [[bridge]], with its kind of NVLink still a name.
struct BridgeEntry {
  BridgeSpec bridge;
  std::string type;
  std::optional<Bandwidth> effective;  ///< of one NVLink, as both_directions
  std::optional<Bandwidth> both_directions;
  SourcePlace place;
};

/// [nvswitch]: all NVLinks of each named card go to one device "nvswitch".
struct NvswitchEntry {
  std::vector<std::string> cards;
  std::string type;
  std::optional<Bandwidth> effective;  ///< of one NVLink, as both_directions
  std::optional<Bandwidth> both_directions;
  std::optional<Duration> latency;
  std::string source;
};

struct ServerFile {
  ServerSpec spec;                    ///< what needs no expansion
  std::vector<SocketEntry> sockets;
  std::vector<DeviceEntry> switches;
  CardsEntry equal_cards;
  std::vector<DeviceEntry> cards;
  std::vector<DeviceEntry> nics;
  std::vector<DeviceEntry> nvmes;
  std::vector<LinkEntry> links;
  std::vector<BridgeEntry> bridges;
  NvswitchEntry nvswitch;
};

const KeyTable<ServerFile>& server_keys();

}  // namespace takt
