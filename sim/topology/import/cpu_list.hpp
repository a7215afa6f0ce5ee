// Sets of logical CPUs as tools print them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace takt {

/// Cores of a list such as "0-63,128-191" (here 64). Two ranges of one length are the two threads of each core, since
/// Linux numbers the first threads of all cores before the second ones; any other list counts its CPUs. 0 if the text
/// is no list.
std::int64_t cores_of_list(std::string_view list);

/// "0000ff,00ff0000" or "0x000000ff,0x00ff0000" (32-bit words, highest first) as a list; nothing if it is no mask.
std::optional<std::string> list_of_mask(std::string_view mask);

}  // namespace takt
