// NVLinks in hwloc's XML: the table of distances named NVLinkBandwidth.
#pragma once

#include "base/result.hpp"
#include "config/xml.hpp"
#include "topology/import/server_draft.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace takt {

inline constexpr std::int64_t nvswitch_peer = -1;

/// hwloc's number of an object (gp_index) to the card it belongs to, in card order; nvswitch_peer for an NVSwitch.
using NvlinkObjects = std::map<std::string, std::int64_t>;

/// The NVLinks of the topology; nothing if it has no such table (hwloc without NVML). Objects that are neither cards
/// nor NVSwitches are left out. Errors: a table whose numbers do not fit its size.
Result<std::optional<std::vector<NvlinkDraft>>> nvlinks_of_distances(const XmlElement& topology,
                                                                     const SourceText& source,
                                                                     const NvlinkObjects& objects);

}  // namespace takt
