// Answers about the rows of a sweep, without a spreadsheet: the best by one number, and those that nothing beats in
// several. Rows that failed or do not fit do not take part. Nothing but the answer is kept in memory.
#pragma once

#include "report/sweep_table.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace takt {

/// A number of a column to compare by: larger or smaller is better, as the column says.
struct Goal {
  std::size_t column = 0;
  Better better = Better::higher;
};

/// The goal `name`. Error: no such column (did you mean?), or one of which neither way is good.
Result<Goal> find_goal(std::span<const SweepColumn> columns, const std::string& name);

/// The `count` best rows by one goal; of equal ones those of earlier points.
class TopRows {
 public:
  TopRows(std::vector<SweepColumn> columns, Goal goal, std::size_t count);
  void add(const std::vector<Json>& cells);
  /// As a table: point, keys, the goal.
  std::string text() const;

 private:
  std::vector<SweepColumn> columns_;
  Goal goal_;
  std::size_t count_;
  std::vector<std::vector<Json>> best_;  ///< best first
};

/// The rows than which no other is as good in all goals and better in one.
class ParetoFront {
 public:
  ParetoFront(std::vector<SweepColumn> columns, std::vector<Goal> goals);
  void add(const std::vector<Json>& cells);
  /// As a table: point, keys, the goals; by the first goal.
  std::string text() const;

 private:
  std::vector<SweepColumn> columns_;
  std::vector<Goal> goals_;
  std::vector<std::vector<Json>> front_;
};

}  // namespace takt
