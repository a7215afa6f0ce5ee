// A line of a pasted text, cut into cells with their columns.
#pragma once

#include "config/source.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace takt {

/// A piece of a line. `column` counts from 1 in TextLine::text.
struct TextCell {
  std::string text;
  std::uint32_t column = 1;
};

/// A line as a user sees it: without terminal colour codes and carriage returns, table bars as spaces.
struct TextLine {
  std::uint32_t number = 0;  ///< from 1
  std::string text;
  bool tabbed = false;          ///< cells are separated by tabs (then they may be empty or hold spaces)
  std::vector<TextCell> cells;  ///< trimmed

  SourcePlace place(const std::string& file, std::uint32_t column) const { return {file, number, column, text}; }
};

std::vector<TextLine> split_lines(const SourceText& source);

}  // namespace takt
