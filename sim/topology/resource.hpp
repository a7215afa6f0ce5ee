// Things that activities share while they run. The engine sees a topology only as this table.
#pragma once

#include <string>
#include <vector>

#include "base/ids.hpp"

namespace takt {

enum class ResourceKind { link, both_directions, card_memory, host_memory };

struct Resource {
  std::string name;       ///< "gpu0 -> sw0", "gpu3 memory", "cpu0 <-> cpu1"
  ResourceKind kind = ResourceKind::link;
  double capacity = 0.0;  ///< units of work a second (bytes/s for links and memories); positive
};

using ResourceTable = std::vector<Resource>;  ///< index with ResourceId

}  // namespace takt
