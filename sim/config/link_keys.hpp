// The kinds of values that links.toml and the links of a server file share.
#pragma once

#include "config/hardware_spec.hpp"
#include "config/key_table.hpp"
#include "config/value_kinds.hpp"

namespace takt {

const Choice<LinkKind>& link_kinds();
Amount<Bandwidth> link_bandwidth();
Amount<Duration> link_latency();

/// Names of path types as NCCL_P2P_LEVEL takes them, from near to far. NCCL knows no NODE: PHB holds for it.
const Choice<std::string>& path_levels();

}  // namespace takt
