// Who a flow of the fluid network belongs to, packed into the word that the network hands back.
#pragma once

#include <cstdint>

namespace takt {

std::uint64_t segment_owner(std::uint32_t rank, std::uint32_t op);
std::uint64_t copy_owner(std::uint32_t rank, std::uint32_t op);
std::uint64_t part_owner(std::uint32_t comm, std::uint32_t part);

}  // namespace takt
