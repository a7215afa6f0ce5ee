// Devices and links: what the vertices and edges of a topology carry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "config/hardware_spec.hpp"

namespace takt {

/// A device. Bundled vertex property.
struct Device {
  std::string name;             ///< "gpu0", in a cluster "server3/gpu0"
  DeviceKind kind = DeviceKind::card;
  std::int32_t card = -1;       ///< card number in rank order, for cards
  std::int32_t server = 0;      ///< which server of a cluster
  std::int32_t socket = -1;     ///< NUMA node the device hangs on, numbered over the whole topology; -1 = none
  std::string cpu;              ///< CPU family, for sockets
};

/// One direction of a link. Bundled edge property.
struct Link {
  LinkId id{};
  LinkId reverse{};             ///< the other direction
  LinkKind kind = LinkKind::pcie;
  std::int64_t generation = 0;
  std::int64_t lanes = 0;
  std::int64_t host_bridge = 0; ///< of its socket, for PCIe links that touch one; 0 = not stated
  Bandwidth nominal{};
  Bandwidth effective{};
  Bandwidth capacity{};         ///< nominal or effective, as assumptions.links says
  Duration latency{};
  ResourceId resource{};        ///< what flows over this direction share
  std::optional<ResourceId> both_directions;  ///< shared with the other direction, where a sum is capped
  std::string type;             ///< link type id, e.g. "pcie5-x16"
  std::string source;
  bool assumed = false;
};

}  // namespace takt
