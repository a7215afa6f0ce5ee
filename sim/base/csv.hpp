// Comma-separated values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace takt {

/// Cells of a CSV line (RFC 4180, no line breaks in cells).
std::vector<std::string> csv_cells(std::string_view line);

/// Where the `cell`th of them begins in the line, from 0; the line's end if it has fewer.
std::size_t csv_cell_start(std::string_view line, std::size_t cell);

/// `text` as one cell: in quotes where a comma or a quote asks for them.
std::string csv_cell(const std::string& text);

}  // namespace takt
