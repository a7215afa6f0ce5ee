// How far apart two devices are, in NCCL's words.
#pragma once

#include "config/nccl_settings.hpp"

#include <optional>
#include <string_view>

namespace takt {

/// "NVL", "PHB", ... as NCCL prints it.
std::string_view to_text(NcclPathType type);

/// Reads NCCL's word or its old numbering ("0" to "5"); empty if it is neither.
std::optional<NcclPathType> path_type_from_text(std::string_view text);

}  // namespace takt
