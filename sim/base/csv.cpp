#include "base/csv.hpp"

namespace takt {

std::vector<std::string> csv_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"')
        cells.back() += line[++i];
      else
        quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

std::size_t csv_cell_start(std::string_view line, std::size_t cell) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (cell == 0) return i;
    if (line[i] == '"') quoted = !quoted;  // a doubled quote changes it twice
    if (line[i] == ',' && !quoted) --cell;
  }
  return line.size();
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + '"';
}

}  // namespace takt
