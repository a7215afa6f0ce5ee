// CPU families: how sources name them, and what a server of each is assumed to have where its source is silent.
#pragma once

#include "base/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace takt {

struct CpuFamily {
  std::string_view id;           ///< "intel-spr"
  std::int64_t pcie_generation;  ///< of its root ports
  Bandwidth memory_bandwidth;    ///< of a socket with every channel populated: channels x 8 B x transfer rate
  std::string_view memory;       ///< the same in words, "8 x DDR5-4800"
  std::string_view socket_link;  ///< link type id between two sockets, from links.toml
};

/// Nothing if no family has this id.
std::optional<CpuFamily> cpu_family(std::string_view id);

/// The family of a CPUID vendor ("GenuineIntel"), family and model. AMD families above 15 come in two forms: as CPUID
/// adds them up (25), and as NCCL prints them (175: the extended family shifted by four bits). Empty if unknown.
std::string cpu_family_id(std::string_view vendor, std::int64_t family, std::int64_t model);

/// What a machine whose source does not name its CPU is taken for: the first server CPU with root ports of this PCIe
/// generation.
std::string_view assumed_cpu_family(std::int64_t pcie_generation);

std::vector<std::string> cpu_family_ids();

}  // namespace takt
