// Comma-separated data files of tests.
#pragma once

#include "support/source_dir.hpp"

#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace takt::test {

/// The cells of one line; quotes are honoured.
inline std::vector<std::string> csv_cells(const std::string& line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

/// Rows of `path` (from the project's root) by the titles of its first line; lines that start with # are comments.
inline std::vector<std::map<std::string, std::string>> csv_table(const std::string& path) {
  std::ifstream file(source_dir() + "/" + path);
  if (!file) throw std::runtime_error("there is no file " + path);
  std::vector<std::string> titles;
  std::vector<std::map<std::string, std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string> cells = csv_cells(line);
    if (titles.empty()) {
      titles = cells;
      continue;
    }
    std::map<std::string, std::string>& row = rows.emplace_back();
    for (std::size_t i = 0; i < cells.size() && i < titles.size(); ++i) row[titles[i]] = cells[i];
  }
  return rows;
}

}  // namespace takt::test
