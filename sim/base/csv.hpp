// Comma-separated values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace takt {

/// Cells of a CSV line (RFC 4180, no line breaks in cells).
std::vector<std::string> csv_cells(std::string_view line);

}  // namespace takt
