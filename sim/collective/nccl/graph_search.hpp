// Finding the best ring, tree or NVLS graph of a server: a ladder of searches from the highest demands downwards.
#pragma once

#include "collective/nccl/channel_graph.hpp"
#include "collective/nccl/channel_search.hpp"
#include "collective/nccl/paths.hpp"

namespace takt::nccl {

/// N20: the fastest path and the fastest card, which bound the speeds that are worth a try.
struct SpeedLimits {
  NcclSpeed path{};  ///< to another card, or between servers to a NIC port
  NcclSpeed card{};  ///< all NVLinks of a card together, or its slot
};
SpeedLimits speed_limits(const RoutedMachine& machine, Reach reach);

ChannelGraph find_ring(const RoutedMachine& machine, Reach reach);
/// The tree takes exactly as many channels as the ring has (N22).
ChannelGraph find_tree(const RoutedMachine& machine, Reach reach, std::int64_t channels);
/// No channels if the server has no NVSwitch or its cards cannot multicast.
ChannelGraph find_nvls(const RoutedMachine& machine, Reach reach);

}  // namespace takt::nccl
