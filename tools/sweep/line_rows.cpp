#include "sweep/sweep_rows.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

namespace takt {
namespace {

/// The fields of a line of CSV without its end; quotes as csv_cell() writes them.
std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

/// What a field of CSV seems to be: a number, true or false, nothing, or a text.
Json cell_of(const std::string& field) {
  if (field.empty()) return {};
  if (field == "true" || field == "false") return field == "true";
  const char* const end = field.data() + field.size();
  std::int64_t integer = 0;
  if (std::from_chars(field.data(), end, integer).ptr == end) return integer;
  double number = 0.0;
  const auto [stop, error] = std::from_chars(field.data(), end, number);
  return error == std::errc{} && stop == end ? Json(number) : Json(field);
}

class LineRows final : public SweepRows {
 public:
  LineRows(const std::string& path, LineFormat format)
      : path_(path), format_(format), stream_(path, std::ios::binary) {}

  std::optional<Diagnostic> open() {
    const Diagnostic empty{Severity::error, {path_, 0, 0, {}}, "holds no rows of a sweep", ""};
    if (!stream_) return Diagnostic{Severity::error, {path_, 0, 0, {}}, "cannot be read", ""};
    std::string line;
    if (!whole_line(line)) return empty;
    if (format_ == LineFormat::csv) {
      columns_ = csv_fields(std::string_view(line).substr(0, line.size() - 1));
    } else {
      const Result<Json> row = parse_json({path_, line});
      const auto* members = row ? std::get_if<Json::Object>(&row->value) : nullptr;
      if (members == nullptr) return empty;
      for (const JsonMember& member : *members) columns_.push_back(member.key);
      stream_.seekg(0);
    }
    if (columns_.empty() || columns_.front() != "point") return empty;
    return std::nullopt;
  }

  const std::vector<std::string>& columns() const override { return columns_; }

  bool next(SweepRow& row) override {
    if (!whole_line(row.line)) return false;
    row.cells.clear();
    if (format_ == LineFormat::csv) {
      for (const std::string& field : csv_fields(std::string_view(row.line).substr(0, row.line.size() - 1))) {
        row.cells.push_back(cell_of(field));
      }
    } else if (Result<Json> parsed = parse_json({path_, row.line})) {
      auto* members = std::get_if<Json::Object>(&parsed->value);
      for (std::size_t i = 0; members != nullptr && i < members->size(); ++i) {
        row.cells.push_back(std::move((*members)[i].value));
      }
    }
    return row.cells.size() == columns_.size();
  }

  Provenance provenance() override { return {}; }

 private:
  /// The next line with its end; false where the file ends before one.
  bool whole_line(std::string& line) {
    if (!std::getline(stream_, line) || stream_.eof()) return false;
    line += '\n';
    return true;
  }

  std::string path_;
  LineFormat format_;
  std::ifstream stream_;
  std::vector<std::string> columns_;
};

}  // namespace

Result<std::unique_ptr<SweepRows>> open_sweep_rows(const std::string& path) {
  if (!std::filesystem::exists(path)) return Diagnostic{Severity::error, {path, 0, 0, {}}, "there is no such file", ""};
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".sqlite" || ending == ".db") return open_sqlite_rows(path);
  auto rows = std::make_unique<LineRows>(path, ending == ".csv" ? LineFormat::csv : LineFormat::json);
  if (const std::optional<Diagnostic> error = rows->open()) return *error;
  return std::unique_ptr<SweepRows>(std::move(rows));
}

std::vector<SweepColumn> columns_named(const std::vector<std::string>& names) {
  constexpr std::size_t row_columns = 4;  // point, points, hash, status
  const std::string first_number = "ranks";
  std::vector<std::string> keys;
  for (std::size_t i = row_columns; i < names.size() && names[i] != first_number; ++i) keys.push_back(names[i]);
  std::vector<SweepColumn> columns = sweep_columns(keys);
  // A file of another version may have other numbers: its own names hold.
  std::vector<SweepColumn> named;
  for (const std::string& name : names) {
    const std::size_t known = find_column(columns, name);
    named.push_back(known < columns.size() ? columns[known]
                                           : SweepColumn{name, SweepColumn::Kind::number, Better::neither});
  }
  return named;
}

}  // namespace takt
