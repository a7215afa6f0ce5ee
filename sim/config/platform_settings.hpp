// [platform]: states of a machine that a scenario sets over its server file. The tables are those of the server file
// ([peer_to_peer], links, sockets, NICs); what is left out stays as the server file builds it.
#pragma once

#include "base/result.hpp"
#include "base/units.hpp"
#include "config/source.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace takt {

/// [platform.peer_to_peer], as in a server file.
struct PlatformPeers {
  std::optional<bool> enabled;
  std::optional<std::string> level;  ///< nvidia-smi's names, "PXB"
  std::optional<bool> iommu;
  std::optional<bool> acs;

  bool operator==(const PlatformPeers&) const = default;
};

/// [platform.pcie]: what the slots and switches of the whole machine run at.
struct PlatformPcie {
  std::optional<std::int64_t> generation;
  std::optional<std::int64_t> lanes;  ///< of the cards' slots

  bool operator==(const PlatformPcie&) const = default;
};

/// [platform.trained_down]: devices whose link towards their socket came up slower than it could.
struct TrainedDown {
  std::vector<std::string> devices;  ///< switches, cards, NICs
  std::optional<std::int64_t> generation;
  std::optional<std::int64_t> lanes;

  bool operator==(const TrainedDown&) const = default;
};

/// [platform.socket]
struct PlatformSocket {
  std::optional<std::string> link;            ///< a kind of link of links.toml, "xgmi-genoa"
  std::optional<Bandwidth> bandwidth;         ///< between two sockets, per direction
  std::optional<Bandwidth> both_directions;   ///< between two sockets, sum of both directions
  std::optional<Bandwidth> memory_bandwidth;  ///< of each socket's host memory
  std::optional<Bytes> memory;                ///< its size

  bool operator==(const PlatformSocket&) const = default;
};

enum class NicPlacement { first_socket, sockets, switches };

/// [platform.nic]
struct PlatformNic {
  std::optional<NicPlacement> placement;
  std::optional<Bandwidth> speed;  ///< per NIC and direction

  bool operator==(const PlatformNic&) const = default;
};

struct PlatformSettings {
  PlatformPeers peer_to_peer;
  PlatformPcie pcie;
  TrainedDown trained_down;
  PlatformSocket socket;
  PlatformNic nic;

  bool operator==(const PlatformSettings&) const = default;
};

/// Settings with the places of the keys that set them.
struct PlatformState {
  PlatformSettings settings;
  SourcePlaces places;  ///< by whole key, "platform.pcie.lanes"
};

/// The settings of a command line that names a machine and no scenario: overrides of keys below "platform.". Errors:
/// other keys, wrong values, settings that contradict each other.
Result<PlatformState> read_platform(const Overrides& overrides);

}  // namespace takt
