// How far apart two devices are, in NCCL's words.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace takt {

/// From near to far; NCCL compares these by order (semantics N5).
enum class NcclPathType : std::uint8_t {
  loc,  ///< the same device
  nvl,  ///< NVLink
  nvb,  ///< NVLink by way of one other card
  c2c,  ///< chip-to-chip link of a card with its CPU
  pix,  ///< one PCIe switch
  pxb,  ///< several PCIe switches, no CPU
  p2c,  ///< a card on C2C and a NIC on the same CPU
  pxn,  ///< a NIC by way of a card that is joined by NVLink
  phb,  ///< a CPU's host bridge
  sys,  ///< the link between CPUs
  net,  ///< only the network joins them
  none  ///< no path
};

/// "NVL", "PHB", ... as NCCL prints it.
std::string_view to_text(NcclPathType type);

/// Reads NCCL's word or its old numbering ("0" to "5"); empty if it is neither.
std::optional<NcclPathType> path_type_from_text(std::string_view text);

}  // namespace takt
