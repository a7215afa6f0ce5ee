#include "topology/import/text_line.hpp"

#include "base/text.hpp"

#include <cctype>
#include <string_view>

namespace takt {
namespace {

constexpr char escape = '\x1b';

/// The end of a terminal control sequence that starts at `at` ("ESC [ 4 m", or "[4m" where a log lost its escape
/// characters), or `at` if there is none.
std::size_t end_of_control_sequence(std::string_view text, std::size_t at) {
  std::size_t i = at;
  if (i < text.size() && text[i] == escape) ++i;
  if (i >= text.size() || text[i] != '[') return text[at] == escape ? i : at;
  const std::size_t digits = ++i;
  while (i < text.size() && (std::isdigit(static_cast<unsigned char>(text[i])) != 0 || text[i] == ';')) ++i;
  const bool is_colour = i < text.size() && text[i] == 'm' && (i > digits || text[at] == escape);
  if (is_colour) return i + 1;
  if (text[at] != escape) return at;
  return i < text.size() ? i + 1 : i;
}

std::string without_decoration(std::string_view raw) {
  std::string clean;
  for (std::size_t i = 0; i < raw.size();) {
    const std::size_t end = end_of_control_sequence(raw, i);
    if (end > i) {
      i = end;
      continue;
    }
    if (raw[i] != '\r') clean += raw[i] == '|' ? ' ' : raw[i];
    ++i;
  }
  return clean;
}

TextCell cell_of(std::string_view line, std::size_t begin, std::size_t end) {
  const std::string_view piece = line.substr(begin, end - begin);
  const std::size_t first = piece.find_first_not_of(' ');
  const std::size_t shift = first == std::string_view::npos ? 0 : first;
  return {std::string(trim(piece)), static_cast<std::uint32_t>(begin + shift + 1)};
}

std::vector<TextCell> tab_cells(std::string_view line) {
  std::vector<TextCell> cells;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    cells.push_back(cell_of(line, begin, end));
    if (end == line.size()) return cells;
    begin = end + 1;
  }
}

std::vector<TextCell> space_cells(std::string_view line) {
  std::vector<TextCell> cells;
  for (std::size_t begin = line.find_first_not_of(' '); begin < line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    cells.push_back(cell_of(line, begin, end));
    begin = line.find_first_not_of(' ', end);
  }
  return cells;
}

}  // namespace

std::vector<TextLine> split_lines(const SourceText& source) {
  std::vector<TextLine> lines;
  const std::string_view text = source.text;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    TextLine line;
    line.number = static_cast<std::uint32_t>(lines.size() + 1);
    line.text = without_decoration(text.substr(begin, end - begin));
    line.tabbed = line.text.find('\t') != std::string::npos;
    line.cells = line.tabbed ? tab_cells(line.text) : space_cells(line.text);
    lines.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

}  // namespace takt
