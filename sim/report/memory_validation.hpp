// Measured peaks of memory against predictions: `takt validate --memory`.
#pragma once

#include "metrics/step_metrics.hpp"
#include "report/step_cases.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace takt {

/// "GiB", "GB" (1e9), "MB", "MiB" or "bytes"; nothing for another unit or a text that is no number.
std::optional<Bytes> measured_bytes(const StepCase& row);

/// A row by what it is held against.
enum class MemoryMeasure { allocated, reserved };

/// Rows that leave by this rule are held against the range of reserved memory.
inline constexpr const char* reserved_rule = "reserved";

/// What a publisher's words for a peak mean: "max_memory_allocated rank0" and "peak active" are allocated, "peak reserved"
/// is reserved; nothing for words that say neither or both.
std::optional<MemoryMeasure> measure_named(std::string_view kind);

/// What is wrong with the memory, memory_unit and memory_kind of a row that is held against a prediction, each at its
/// cell: no positive number, an unknown unit, a kind that does not say or that belongs under the other measure.
Diagnostics wrong_memory_cells(const StepCase& row);

struct MemoryOutcome {
  StepCase row;
  MemoryMeasure measure = MemoryMeasure::allocated;
  Bytes measured{};
  Bytes predicted{};   ///< allocated at the peak
  ByteRange reserved;  ///< predicted range
  std::string peak_op;
  std::string not_predicted;  ///< why it could not run; empty: it did

  /// (predicted - measured) / measured.
  double error() const;
  bool in_range() const { return reserved.low <= measured && measured <= reserved.high; }
};

struct MemoryReport {
  std::vector<MemoryOutcome> outcomes;
  std::vector<StepCase> excluded;
  std::map<std::string, std::string> rules;
};

/// Medians of absolute errors, as fractions; 0 without rows.
struct MemoryScore {
  std::size_t rows = 0;
  double median = 0.0;
  double publishers = 0.0;  ///< the median over publishers of their medians
};

/// The publisher whose whole stack is stated, and all others.
inline constexpr const char* fully_stated_publisher = "fms-acceleration";
MemoryScore score_of_stated(const std::vector<MemoryOutcome>& outcomes);
MemoryScore score_of_others(const std::vector<MemoryOutcome>& outcomes);

/// Every row with its error, medians by publisher and stack, rows held against reserved memory, and rows left out.
std::string memory_validation_text(const MemoryReport& report);

/// Every row as CSV; `measure` says what of it is held against what.
std::string memory_rows_csv(const MemoryReport& report);

/// Summaries that leave their recorded bound, and rows that could not run, in words.
std::vector<std::string> left_memory_bounds(const std::vector<MemoryOutcome>& outcomes);

}  // namespace takt
