#include "report/table.hpp"

#include "base/contract.hpp"

#include <algorithm>
#include <utility>

namespace takt {
namespace {

constexpr std::size_t column_gap = 2;

/// Whether a byte continues a UTF-8 code point.
bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

std::string pad(const std::string& cell, std::size_t width, Align align) {
  const std::string space(width - std::min(width, display_width(cell)), ' ');
  return align == Align::left ? cell + space : space + cell;
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string escape_markdown(const std::string& cell) {
  std::string text;
  for (const char c : cell) {
    if (c == '|') text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::row(std::vector<std::string> cells) {
  expects(cells.size() <= columns_.size(), "a table row has at most as many cells as there are columns");
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

void Table::rule() {
  rows_.emplace_back();
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const std::vector<std::string>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

std::string Table::text(std::size_t indent) const {
  const std::vector<std::size_t> widths = this->widths();
  const std::string margin(indent, ' ');
  const std::string gap(column_gap, ' ');
  std::size_t total = 0;
  for (const std::size_t width : widths) total += width + (total > 0 ? column_gap : 0);
  const std::string rule = margin + std::string(total, '-') + '\n';

  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      text += (i > 0 ? gap : "") + pad(cell_of(i), widths[i], columns_[i].align);
    }
    return without_trailing_spaces(margin + text) + '\n';
  };

  std::string text;
  const bool titled = std::any_of(columns_.begin(), columns_.end(), [](const Column& c) { return !c.title.empty(); });
  if (titled) text += line([&](std::size_t i) { return columns_[i].title; }) + rule;
  for (const std::vector<std::string>& row : rows_) {
    text += row.empty() ? rule : line([&](std::size_t i) { return row[i]; });
  }
  return text;
}

std::string Table::markdown() const {
  std::string text = "|";
  for (const Column& column : columns_) text += ' ' + escape_markdown(column.title) + " |";
  text += "\n|";
  for (const Column& column : columns_) text += column.align == Align::left ? "---|" : "--:|";
  text += '\n';
  for (const std::vector<std::string>& row : rows_) {
    if (row.empty()) continue;
    text += '|';
    for (const std::string& cell : row) text += ' ' + escape_markdown(cell) + " |";
    text += '\n';
  }
  return text;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string shorten(std::string_view text, std::size_t width) {
  if (display_width(text) <= width || width == 0) return std::string(text);
  std::size_t bytes = 0;
  for (std::size_t kept = 0; bytes < text.size(); ++bytes) {
    if (continues(text[bytes])) continue;
    if (++kept == width) break;
  }
  return std::string(text.substr(0, bytes)) + '~';
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::string lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string word(text.substr(0, space));
    text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
    if (word.empty()) continue;
    if (!line.empty() && indent + display_width(line) + 1 + display_width(word) > width) {
      lines += margin + line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? lines : lines + margin + line + '\n';
}

}  // namespace takt
