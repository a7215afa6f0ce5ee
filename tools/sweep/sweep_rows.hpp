// Rows of a sweep's file, read back one after another: for answers about them and for joining parts.
#pragma once

#include "sweep/sweep_output.hpp"

namespace takt {

class SweepRows {
 public:
  virtual ~SweepRows() = default;
  virtual const std::vector<std::string>& columns() const = 0;
  /// The next row with a cell a column and, in formats that have lines, its line; false at the end. A row that is not
  /// whole, at the end of a file that was cut off, is no row.
  virtual bool next(SweepRow& row) = 0;
  /// What a database says of itself; empty in other formats.
  virtual Provenance provenance() = 0;
};

/// By the file's ending, as in open_sweep_output(). Errors: no such file, no rows of a sweep in it.
Result<std::unique_ptr<SweepRows>> open_sweep_rows(const std::string& path);
Result<std::unique_ptr<SweepRows>> open_sqlite_rows(const std::string& path);

/// The columns of a file by their names: what stands between `status` and the first number are the axes' keys.
std::vector<SweepColumn> columns_named(const std::vector<std::string>& names);

}  // namespace takt
