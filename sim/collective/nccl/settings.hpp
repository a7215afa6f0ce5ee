// Words for the settings of NCCL (config/nccl_settings.hpp), as NCCL prints them.
#pragma once

#include "collective/nccl/path_type.hpp"
#include "config/nccl_settings.hpp"

#include <optional>
#include <string_view>

namespace takt {

/// "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT".
std::string_view to_text(NcclAlgorithm algorithm);
/// "LL", "LL128", "Simple".
std::string_view to_text(NcclProtocol protocol);

/// Which rules hold for a release ("2.27.5", "2.27"); empty if the text is no version or one before 2.21.
std::optional<NcclVersion> nccl_version_from_text(std::string_view text);

}  // namespace takt
