// The numbers of a run that fit in one line: the columns of CSV files and of sweeps, named as in takt.result/1.
#pragma once

#include "config/json.hpp"
#include "metrics/step_metrics.hpp"

#include <span>
#include <string>

namespace takt {

/// Which way a number is good.
enum class Better { neither, higher, lower };

struct ResultColumn {
  const char* name;
  Better better = Better::neither;
  Json (*cell)(const RunResult&);  ///< null: the run has no such number
};

/// In the order of the columns.
std::span<const ResultColumn> result_columns();

/// A cell as CSV: text in quotes where it must be, numbers with the digits that read back as the same number, null as
/// nothing.
std::string csv_cell(const Json& cell);

/// A line of CSV with its end.
std::string csv_line(std::span<const Json> cells);

}  // namespace takt
