// The one table formatter: columns that line up, for a terminal or as Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace takt {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
};

/// Rows of text cells. A row may have fewer cells than there are columns.
///
///     Table table({{"link"}, {"busy", Align::right}});
///     table.row({"gpu0 -> sw0", "93.1 %"});
///     text += table.text();
class Table {
 public:
  explicit Table(std::vector<Column> columns);

  void row(std::vector<std::string> cells);
  /// A horizontal rule between the rows before and after it.
  void rule();

  bool empty() const { return rows_.empty(); }

  /// Lines that start with `indent` spaces and end in a newline without trailing spaces; columns are two spaces apart.
  /// The titles are left out when every title is empty.
  std::string text(std::size_t indent = 0) const;

  /// A Markdown table; `|` within cells is escaped.
  std::string markdown() const;

 private:
  std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  ///< an empty row is a rule
};

/// Number of characters that a UTF-8 text takes on a terminal (one a code point).
std::size_t display_width(std::string_view text);

/// `text` cut to at most `width` characters, the last of them "~" when something was cut.
std::string shorten(std::string_view text, std::size_t width);

/// `text` in lines of at most `width` characters, broken between words; each line starts with `indent` spaces.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent = 0);

/// Screen width for which tables are laid out.
inline constexpr std::size_t screen_width = 100;

}  // namespace takt
