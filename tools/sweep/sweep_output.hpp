// Where the rows of a sweep go: a CSV file, JSON lines or an SQLite database, by the file's ending.
//
// Rows are appended in the order of their points and reach the disk in batches of a quarter second, so that a crash
// loses at most the last batch. What is there already can be continued: opening such a file cuts off a row that is not whole.
#pragma once

#include "report/sweep_table.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace takt {

/// A row's cells, and its line in formats that have lines.
struct SweepRow {
  std::vector<Json> cells;
  std::string line;
};

/// What a row that is in the file already is about.
struct RowKey {
  std::uint64_t point = 0;
  std::optional<std::uint64_t> hash;  ///< none if the point is no scenario

  bool operator==(const RowKey&) const = default;
};

class SweepOutput {
 public:
  virtual ~SweepOutput() = default;
  /// Rows that were in the file when it was opened, in its order.
  virtual const std::vector<RowKey>& present() const = 0;
  /// Fills row.line if the format has lines. May run on several threads at once.
  virtual void format(SweepRow& row) const = 0;
  virtual std::optional<Diagnostic> append(const SweepRow& row) = 0;
  /// Everything appended so far reaches the disk. Call before the end: the destructor cannot say what went wrong.
  virtual std::optional<Diagnostic> flush() = 0;
};

/// How a file is opened.
enum class Opening {
  create,   ///< error if it exists
  proceed,  ///< continue what is there; like create if nothing is
};

/// What a database says of where its rows come from: texts under names.
using Provenance = std::vector<std::pair<std::string, std::string>>;

/// The ending decides: .csv, .jsonl or .ndjson, .sqlite or .db. Errors: another ending, a file that exists or that has
/// other columns, a disk that refuses.
Result<std::unique_ptr<SweepOutput>> open_sweep_output(const std::string& path, std::vector<SweepColumn> columns,
                                                       const Provenance& provenance, Opening opening);

/// The formats behind open_sweep_output().
enum class LineFormat { csv, json };
Result<std::unique_ptr<SweepOutput>> open_line_output(const std::string& path, std::vector<SweepColumn> columns,
                                                      LineFormat format, Opening opening);
Result<std::unique_ptr<SweepOutput>> open_sqlite_output(const std::string& path, std::vector<SweepColumn> columns,
                                                        const Provenance& provenance, Opening opening);

/// The position of a row in its file's line: what a line of CSV or JSON begins with. Nothing if it is not whole.
std::optional<RowKey> row_key(const std::string& line, LineFormat format);

/// Says when the next batch is due.
class BatchClock {
 public:
  bool due() const { return std::chrono::steady_clock::now() - last_ >= std::chrono::milliseconds(250); }
  void restart() { last_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace takt
