#include "report/sweep_answers.hpp"

#include "base/text.hpp"
#include "report/format.hpp"
#include "report/table.hpp"

#include <algorithm>

namespace takt {
namespace {

/// A cell as a number to compare, turned so that larger is better; nothing if it is none.
std::optional<double> merit(const std::vector<Json>& cells, Goal goal) {
  const Json& cell = cells[goal.column];
  const double sign = goal.better == Better::lower ? -1.0 : 1.0;
  if (const auto* number = std::get_if<double>(&cell.value)) return sign * *number;
  if (const auto* integer = std::get_if<std::int64_t>(&cell.value)) return sign * static_cast<double>(*integer);
  return std::nullopt;
}

/// Whether a row is a run that fits. SQLite writes true as 1.
bool takes_part(std::span<const SweepColumn> columns, const std::vector<Json>& cells) {
  const std::size_t status = find_column(columns, "status"), fits = find_column(columns, "fits");
  if (status == columns.size() || fits == columns.size()) return false;
  const Json& fit = cells[fits];
  return cells[status] == Json(status_ok) && (fit == Json(true) || fit == Json(1));
}

std::string shown(const Json& cell) {
  if (const auto* number = std::get_if<double>(&cell.value)) return format_number(*number, 4);
  return csv_cell(cell);
}

std::string rows_text(std::span<const SweepColumn> columns, std::span<const Goal> goals,
                      const std::vector<std::vector<Json>>& rows) {
  if (rows.empty()) return "no point ran and fits\n";
  std::vector<std::size_t> chosen = {0};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].kind == SweepColumn::Kind::key) chosen.push_back(i);
  }
  for (const Goal& goal : goals) {
    if (std::find(chosen.begin(), chosen.end(), goal.column) == chosen.end()) chosen.push_back(goal.column);
  }
  std::vector<Column> heads;
  for (const std::size_t i : chosen) {
    heads.push_back({columns[i].name, columns[i].kind == SweepColumn::Kind::key ? Align::left : Align::right});
  }
  Table table(std::move(heads));
  for (const std::vector<Json>& row : rows) {
    std::vector<std::string> cells;
    for (const std::size_t i : chosen) cells.push_back(shown(row[i]));
    table.row(std::move(cells));
  }
  return table.text();
}

}  // namespace

Result<Goal> find_goal(std::span<const SweepColumn> columns, const std::string& name) {
  std::vector<std::string> names;
  for (const SweepColumn& column : columns) {
    if (column.better != Better::neither) names.push_back(column.name);
  }
  const std::size_t found = find_column(columns, name);
  if (found < columns.size() && columns[found].better != Better::neither) {
    return Goal{found, columns[found].better};
  }
  const std::optional<std::string> near = did_you_mean(name, names);
  const std::string hint = near ? "did you mean " + *near + "?" : "use one of " + join(names, ", ");
  const std::string message = found < columns.size() ? "neither more nor less " + name + " is better"
                                                     : "there is no number '" + name + "' to compare by";
  return Diagnostic{Severity::error, {}, message, hint};
}

TopRows::TopRows(std::vector<SweepColumn> columns, Goal goal, std::size_t count)
    : columns_(std::move(columns)), goal_(goal), count_(count) {}

void TopRows::add(const std::vector<Json>& cells) {
  const std::optional<double> value = merit(cells, goal_);
  if (!value || !takes_part(columns_, cells)) return;
  const auto place = std::find_if(best_.begin(), best_.end(),
                                  [&](const std::vector<Json>& other) { return *merit(other, goal_) < *value; });
  if (place == best_.end() && best_.size() >= count_) return;
  best_.insert(place, cells);
  if (best_.size() > count_) best_.pop_back();
}

std::string TopRows::text() const {
  return rows_text(columns_, std::span(&goal_, 1), best_);
}

ParetoFront::ParetoFront(std::vector<SweepColumn> columns, std::vector<Goal> goals)
    : columns_(std::move(columns)), goals_(std::move(goals)) {}

void ParetoFront::add(const std::vector<Json>& cells) {
  if (!takes_part(columns_, cells)) return;
  for (const Goal& goal : goals_) {
    if (!merit(cells, goal)) return;
  }
  /// Whether `a` is as good as `b` in all goals and better in one.
  const auto beats = [this](const std::vector<Json>& a, const std::vector<Json>& b) {
    bool better = false;
    for (const Goal& goal : goals_) {
      const double mine = *merit(a, goal), other = *merit(b, goal);
      if (mine < other) return false;
      better = better || mine > other;
    }
    return better;
  };
  if (std::any_of(front_.begin(), front_.end(), [&](const auto& other) { return beats(other, cells); })) return;
  std::erase_if(front_, [&](const auto& other) { return beats(cells, other); });
  front_.push_back(cells);
}

std::string ParetoFront::text() const {
  std::vector<std::vector<Json>> sorted = front_;
  std::stable_sort(sorted.begin(), sorted.end(), [this](const auto& a, const auto& b) {
    return *merit(a, goals_.front()) > *merit(b, goals_.front());
  });
  return rows_text(columns_, goals_, sorted);
}

}  // namespace takt
