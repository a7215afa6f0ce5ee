// Rows of the data files of this folder.
#pragma once

#include "base/csv.hpp"
#include "support/source_dir.hpp"

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace takt::test {

/// Rows of tests/plan/data/`name` without comments and the heading.
inline std::vector<std::vector<std::string>> csv_rows(const std::string& name) {
  std::ifstream file(source_dir() + "/tests/plan/data/" + name);
  if (!file) throw std::runtime_error("no tests/plan/data/" + name);
  std::vector<std::vector<std::string>> rows;
  bool heading = true;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (!heading) rows.push_back(csv_cells(line));
    heading = false;
  }
  return rows;
}

}  // namespace takt::test
