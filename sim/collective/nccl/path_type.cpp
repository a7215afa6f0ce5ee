#include "collective/nccl/path_type.hpp"

#include <array>
#include <cstddef>

namespace takt {
namespace {

constexpr std::array<std::string_view, 12> names{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                                 "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};

// NCCL_P2P_LEVEL once took numbers; they keep their meaning.
constexpr std::array<NcclPathType, 6> by_old_number{NcclPathType::loc, NcclPathType::pix, NcclPathType::pxb,
                                                NcclPathType::phb, NcclPathType::sys, NcclPathType::sys};

}  // namespace

std::string_view to_text(NcclPathType type) { return names[static_cast<std::size_t>(type)]; }

std::optional<NcclPathType> path_type_from_text(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<NcclPathType>(i);
  }
  if (text.size() == 1 && text[0] >= '0' && text[0] <= '9') {
    const auto number = static_cast<std::size_t>(text[0] - '0');
    return by_old_number[number < by_old_number.size() ? number : by_old_number.size() - 1];
  }
  return std::nullopt;
}

}  // namespace takt
