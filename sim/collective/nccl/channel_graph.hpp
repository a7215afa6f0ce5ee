// What a search finds: a number of channels of one speed, each an order of the server's cards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collective/nccl/path_type.hpp"
#include "collective/nccl/speed.hpp"

namespace takt::nccl {

/// The shape of a channel inside a server. The numbers are NCCL's own (its graph files hold them).
enum class ChannelPattern : std::uint8_t {
  balanced_tree = 1,  ///< a chain whose first two cards share the network traffic
  split_tree = 2,     ///< a chain: one card receives, the next sends
  tree = 3,           ///< a chain whose first card does all network traffic
  ring = 4,
  nvls = 5            ///< the switch reduces; a channel is a card that owns a share
};

/// May a channel leave by another NIC than it came in?
enum class CrossNic : std::uint8_t { no = 0, yes = 1, alternating = 2 };

enum class SameChannels : std::uint8_t { no = 0, yes = 1 };  ///< all channels go in the first one's order

struct ChannelGraph {
  ChannelPattern pattern = ChannelPattern::ring;
  std::int64_t min_channels = 1;
  std::int64_t max_channels = 1;
  std::int64_t channels = 0;
  NcclSpeed speed_intra{};  ///< a channel inside the server
  NcclSpeed speed_inter{};  ///< a channel between servers
  NcclPathType type_intra = NcclPathType::loc;
  NcclPathType type_inter = NcclPathType::pix;
  SameChannels same = SameChannels::yes;
  CrossNic cross_nic = CrossNic::no;
  std::int64_t hops = 0;       ///< links passed by all channels
  double latency_inter = 0.0;  ///< us, of the NIC
  std::size_t cards = 0;
  std::vector<std::uint16_t> order;  ///< [channel * cards + step]: position of the card
  std::vector<std::uint16_t> nets;   ///< [channel * 2]: port in, port out; empty if the server is alone

  std::span<const std::uint16_t> channel(std::int64_t c) const {
    return {order.data() + static_cast<std::size_t>(c) * cards, cards};
  }

  bool operator==(const ChannelGraph&) const = default;
};

}  // namespace takt::nccl
