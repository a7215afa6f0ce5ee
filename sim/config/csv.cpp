#include "config/csv.hpp"

#include "base/csv.hpp"
#include "base/text.hpp"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace takt {
namespace {

/// A line of the table, from 1, as it stands there.
struct Line {
  std::uint32_t number = 1;
  std::string_view text;
};

Diagnostic error_in_line(const std::string& file, const Line& line, std::string message, std::string hint) {
  return {Severity::error, {file, line.number, 1, std::string(line.text)}, std::move(message), std::move(hint)};
}

}  // namespace

Diagnostic CsvTable::error_at(const CsvRow& row, std::string what, std::string hint) const {
  return error_in_line(file, {row.line, row.text}, std::move(what), std::move(hint));
}

Diagnostic CsvTable::error_in(const CsvRow& row, std::size_t cell, std::string what, std::string hint) const {
  Diagnostic error = error_at(row, std::move(what), std::move(hint));
  error.place = place_of_cell(std::move(error.place), cell);
  return error;
}

Result<CsvTable> read_csv(const SourceText& source) {
  CsvTable table;
  table.file = source.file;
  Diagnostics errors;
  std::string_view rest = source.text;
  for (std::uint32_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> cells = csv_cells(line);
    if (table.header.empty()) {
      table.header = std::move(cells);
      table.header_line = number;
    } else if (cells.size() != table.header.size()) {
      errors.push_back(error_in_line(source.file, {number, line},
                                     fmt::format("{} cells in a table of {} columns", cells.size(), table.header.size()),
                                     "put cells that contain a comma in double quotes"));
    } else {
      table.rows.push_back({number, std::move(cells), std::string(line)});
    }
  }
  if (table.header.empty()) errors.push_back(error_in_line(source.file, {}, "an empty table", "start with a header"));
  if (!errors.empty()) return errors;
  return table;
}

Result<CsvTable> read_csv(const SourceText& source, std::string_view header) {
  Result<CsvTable> table = read_csv(source);
  if (table && table->header != csv_cells(header)) {
    return Diagnostics{error_in_line(source.file, {table->header_line, join(table->header, ",")},
                                     "these are not the expected columns",
                                     fmt::format("start with the line {}", header))};
  }
  return table;
}

bool has_columns(const SourceText& source, std::string_view header) {
  const Result<CsvTable> table = read_csv(source);
  return table && table->header == csv_cells(header);
}

SourcePlace place_of_cell(SourcePlace row, std::size_t cell) {
  row.column = static_cast<std::uint32_t>(csv_cell_start(row.line_text, cell) + 1);
  return row;
}

std::optional<double> number_in(std::string_view cell) {
  double number = 0.0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<std::int64_t> count_in(std::string_view cell, std::int64_t least) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error != std::errc() || end != cell.data() + cell.size() || number < least) return std::nullopt;
  return number;
}

}  // namespace takt
