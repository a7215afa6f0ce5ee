#include "config/csv.hpp"

#include "base/csv.hpp"

#include <charconv>
#include <fmt/format.h>
#include <utility>

namespace takt {
namespace {

Diagnostic error_in_line(const std::string& file, std::uint32_t line, std::string message, std::string hint) {
  Diagnostic diagnostic;
  diagnostic.place.file = file;
  diagnostic.place.line = line;
  diagnostic.place.column = 1;
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  return diagnostic;
}

}  // namespace

Diagnostic CsvTable::error_at(const CsvRow& row, std::string what, std::string hint) const {
  return error_in_line(file, row.line, std::move(what), std::move(hint));
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
    } else if (cells.size() != table.header.size()) {
      errors.push_back(error_in_line(
          source.file, number, fmt::format("{} cells in a table of {} columns", cells.size(), table.header.size()),
          "put cells that contain a comma in double quotes"));
    } else {
      table.rows.push_back({number, std::move(cells)});
    }
  }
  if (table.header.empty()) errors.push_back(error_in_line(source.file, 1, "an empty table", "start with a header"));
  if (!errors.empty()) return errors;
  return table;
}

Result<CsvTable> read_csv(const SourceText& source, std::string_view header) {
  Result<CsvTable> table = read_csv(source);
  if (table && table->header != csv_cells(header)) {
    return Diagnostics{error_in_line(source.file, 1, "these are not the expected columns",
                                     fmt::format("start with the line {}", header))};
  }
  return table;
}

std::optional<double> number_in(std::string_view cell) {
  double number = 0.0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return number;
}

}  // namespace takt
