// Tables as text: comma-separated values with a header (RFC 4180, without line breaks in cells).
#pragma once

#include "base/result.hpp"
#include "config/source.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace takt {

struct CsvRow {
  std::uint32_t line = 0;          ///< in its file, from 1
  std::vector<std::string> cells;  ///< as many as the header has
  std::string text{};              ///< the line itself
};

struct CsvTable {
  std::string file;
  std::vector<std::string> header;
  std::uint32_t header_line = 1;  ///< below any remarks
  std::vector<CsvRow> rows;

  /// An error at a row; `what` is the message.
  Diagnostic error_at(const CsvRow& row, std::string what, std::string hint = "") const;

  /// An error at the `cell`th cell of a row, from 0.
  Diagnostic error_in(const CsvRow& row, std::size_t cell, std::string what, std::string hint = "") const;
};

/// Errors: no header, a row with another number of cells than the header. Empty lines and lines that start with # are
/// passed over.
Result<CsvTable> read_csv(const SourceText& source);

/// The same, and the header must be `header` ("card,m,n"): its columns in that order.
Result<CsvTable> read_csv(const SourceText& source, std::string_view header);

/// Whether a table starts with the columns `header`.
bool has_columns(const SourceText& source, std::string_view header);

/// The place of the `cell`th cell, from 0, of the row at `row`, which has its line's text.
SourcePlace place_of_cell(SourcePlace row, std::size_t cell);

/// The whole cell as a finite number, or nothing.
std::optional<double> number_in(std::string_view cell);

/// The whole cell as a whole number, at least `least`, or nothing.
std::optional<std::int64_t> count_in(std::string_view cell, std::int64_t least = 0);

/// Rows of a table with the columns `header`, each made by `make(table, row)`, a Result of a row. Errors: the table's,
/// and of every row that cannot be made.
template <class Row, class Make>
Result<std::vector<Row>> read_rows(const SourceText& source, std::string_view header, Make make) {
  const Result<CsvTable> table = read_csv(source, header);
  if (!table) return table.diagnostics();
  std::vector<Row> rows;
  rows.reserve(table->rows.size());
  Diagnostics errors;
  for (const CsvRow& row : table->rows) {
    Result<Row> made = make(*table, row);
    if (made)
      rows.push_back(*std::move(made));
    else
      errors.insert(errors.end(), made.diagnostics().begin(), made.diagnostics().end());
  }
  if (!errors.empty()) return errors;
  return rows;
}

}  // namespace takt
