#include "report/sweep_table.hpp"

#include "report/report.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>

namespace takt {
namespace {

/// Columns of a result that a sweep's own columns say already.
bool is_repeated(std::string_view name) {
  constexpr std::array<std::string_view, 3> repeated = {"scenario", "file", "hash"};
  return std::find(repeated.begin(), repeated.end(), name) != repeated.end();
}

struct JsonOf {
  Json operator()(bool value) const { return value; }
  Json operator()(std::int64_t value) const { return value; }
  Json operator()(double value) const { return value; }
  Json operator()(const std::string& value) const { return value; }
  Json operator()(const Node::Array& items) const {
    Json::Array list;
    for (const Node& item : items) list.push_back(std::visit(JsonOf{}, item.value));
    return list;
  }
  Json operator()(const Node::Table& members) const {
    Json::Object object;
    for (const Member& member : members) object.push_back({member.key, std::visit(JsonOf{}, member.value.value)});
    return object;
  }
};

/// A row is a line of its file, whatever a text holds.
Json on_one_line(Json cell) {
  if (auto* text = std::get_if<std::string>(&cell.value)) {
    std::replace_if(
        text->begin(), text->end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  }
  return cell;
}

/// The errors in one text, each with its place.
std::string error_text(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& said : diagnostics) {
    if (said.severity != Severity::error) continue;
    if (!text.empty()) text += "; ";
    if (said.place.line > 0) text += fmt::format("{}:{}:{}: ", said.place.file, said.place.line, said.place.column);
    text += said.message;
  }
  return text;
}

}  // namespace

std::vector<SweepColumn> sweep_columns(const std::vector<std::string>& keys) {
  using Kind = SweepColumn::Kind;
  std::vector<SweepColumn> columns = {{"point"}, {"points"}, {"hash"}, {"status"}};
  for (const std::string& key : keys) columns.push_back({key, Kind::key});
  for (const ResultColumn& column : result_columns()) {
    if (!is_repeated(column.name)) columns.push_back({column.name, Kind::number, column.better});
  }
  columns.push_back({"error"});
  columns.push_back({"takt_version"});
  return columns;
}

std::size_t find_column(std::span<const SweepColumn> columns, const std::string& name) {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const SweepColumn& column) { return column.name == name; });
  return static_cast<std::size_t>(found - columns.begin());
}

std::vector<Json> sweep_row(const SweepDocument& sweep, const PointOutcome& outcome) {
  std::vector<Json> cells = {static_cast<std::int64_t>(outcome.point), static_cast<std::int64_t>(sweep.points),
                             outcome.hash ? Json(fmt::format("{:016x}", *outcome.hash)) : Json(), outcome.status};
  for (const Node* value : sweep.values(outcome.point)) {
    cells.push_back(on_one_line(std::visit(JsonOf{}, value->value)));
  }
  for (const ResultColumn& column : result_columns()) {
    if (is_repeated(column.name)) continue;
    cells.push_back(outcome.result != nullptr ? on_one_line(column.cell(*outcome.result)) : Json());
  }
  cells.push_back(outcome.errors.empty() ? Json() : on_one_line(error_text(outcome.errors)));
  cells.push_back(takt_version());
  return cells;
}

std::string json_line(std::span<const SweepColumn> columns, std::span<const Json> cells) {
  expects(columns.size() == cells.size(), "a row has a cell for each column");
  Json::Object row;
  for (std::size_t i = 0; i < cells.size(); ++i) row.push_back({columns[i].name, cells[i]});
  return write_json(std::move(row), JsonLayout::compact) + '\n';
}

std::string csv_header(std::span<const SweepColumn> columns) {
  std::vector<Json> names;
  for (const SweepColumn& column : columns) names.emplace_back(column.name);
  return csv_line(names);
}

}  // namespace takt
