// Files that Takt writes.
#pragma once

#include "base/diagnostic.hpp"

#include <optional>
#include <string>

namespace takt {

/// Writes `text` to a file beside `path` and renames it, so that `path` never holds half a text. An error names the
/// file and the reason.
std::optional<Diagnostic> write_file(const std::string& path, const std::string& text);

}  // namespace takt
