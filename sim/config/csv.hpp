// Tables as text: comma-separated values with a header (RFC 4180, without line breaks in cells).
#pragma once

#include "base/result.hpp"
#include "config/source.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace takt {

struct CsvRow {
  std::uint32_t line = 0;          ///< in its file, from 1
  std::vector<std::string> cells;  ///< as many as the header has
};

struct CsvTable {
  std::string file;
  std::vector<std::string> header;
  std::vector<CsvRow> rows;

  /// An error at a row; `what` is the message.
  Diagnostic error_at(const CsvRow& row, std::string what, std::string hint = "") const;
};

/// Errors: no header, a row with another number of cells than the header. Empty lines and lines that start with # are
/// passed over.
Result<CsvTable> read_csv(const SourceText& source);

/// The same, and the header must be `header` ("card,m,n"): its columns in that order.
Result<CsvTable> read_csv(const SourceText& source, std::string_view header);

/// The whole cell as a number, or nothing.
std::optional<double> number_in(std::string_view cell);

}  // namespace takt
