// Who a flow of the fluid network belongs to, packed into the word that the network hands back.
#pragma once

#include <cstdint>

namespace takt {

struct FlowOwner {
  enum class Kind : std::uint8_t { segment, copy, part };
  Kind kind = Kind::segment;
  std::uint32_t first = 0;   ///< a rank; of a part its communicator; below 2^30
  std::uint32_t second = 0;  ///< an op; or the part
};

constexpr std::uint64_t packed(const FlowOwner& owner) {
  return (static_cast<std::uint64_t>(owner.kind) << 62U) | (static_cast<std::uint64_t>(owner.first) << 32U) | owner.second;
}

constexpr FlowOwner unpacked(std::uint64_t word) {
  return {static_cast<FlowOwner::Kind>(word >> 62U), static_cast<std::uint32_t>((word >> 32U) & 0x3fffffffU),
          static_cast<std::uint32_t>(word & 0xffffffffU)};
}

}  // namespace takt
