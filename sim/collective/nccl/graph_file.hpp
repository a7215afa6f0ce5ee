// An NCCL graph file: channels that a user prescribes instead of the search.
#pragma once

#include "collective/nccl/path_type.hpp"
#include "collective/nccl/speed.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace takt {

/// One prescribed channel: cards and NIC ports by their device numbers, in order.
struct NcclFileChannel {
  std::vector<std::int64_t> devices;
  std::vector<std::int64_t> nets;  ///< none, or the port it comes in by and the port it leaves by

  auto operator<=>(const NcclFileChannel&) const = default;
};

struct NcclFileGraph {
  std::int64_t id = 0;       ///< 0 ring, 1 tree, 3 NVLS
  std::int64_t pattern = 4;  ///< NCCL's number of the shape
  std::int64_t cross_nic = 0;
  std::int64_t same_channels = 1;
  NcclSpeed speed_intra{}, speed_inter{};
  double latency_inter = 0.0;  ///< us
  NcclPathType type_intra = NcclPathType::loc;
  NcclPathType type_inter = NcclPathType::pix;
  std::vector<NcclFileChannel> channels;

  auto operator<=>(const NcclFileGraph&) const = default;
};

struct NcclGraphFile {
  std::vector<NcclFileGraph> graphs;

  auto operator<=>(const NcclGraphFile&) const = default;
};

}  // namespace takt
