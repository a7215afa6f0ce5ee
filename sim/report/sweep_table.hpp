// A sweep as a table: one row a point, one column a key and a number.
//
//     point, points, hash, status, <keys of the axes>, <columns of a result>, error, takt_version
//
// `point` counts from 0 in the order of the sweep, `points` is how many it has, `hash` names the resolved scenario.
// `status` is "ok"; "unfit" if points that do not fit are skipped and this one does not; or "error", with the reason in
// `error`. Cells without a value are null.
#pragma once

#include "config/sweep_document.hpp"
#include "report/result_columns.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace takt {

inline constexpr const char* status_ok = "ok";
inline constexpr const char* status_unfit = "unfit";
inline constexpr const char* status_error = "error";

struct SweepColumn {
  enum class Kind { row, key, number };  ///< about the row itself, a key of an axis, a result

  std::string name;
  Kind kind = Kind::row;
  Better better = Better::neither;
};

/// The columns of a sweep over `keys`.
std::vector<SweepColumn> sweep_columns(const std::vector<std::string>& keys);

/// A column's position, or columns.size().
std::size_t find_column(std::span<const SweepColumn> columns, const std::string& name);

/// What came of one point.
struct PointOutcome {
  std::uint64_t point = 0;
  std::optional<std::uint64_t> hash;  ///< of the resolved scenario; none if the point is no scenario
  const char* status = status_ok;
  const RunResult* result = nullptr;  ///< of points that are "ok"
  Diagnostics errors;                 ///< of points that are "error"
};

/// The cells of a row, in the order of sweep_columns(). Texts have no line ends.
std::vector<Json> sweep_row(const SweepDocument& sweep, const PointOutcome& outcome);

/// A row as one line of JSON with its end.
std::string json_line(std::span<const SweepColumn> columns, std::span<const Json> cells);

/// The line that heads a CSV file.
std::string csv_header(std::span<const SweepColumn> columns);

}  // namespace takt
