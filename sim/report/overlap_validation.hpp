// Measured effects of overlap against predictions: `takt validate --overlap`.
#pragma once

#include "base/result.hpp"
#include "config/source.hpp"
#include "metrics/interference.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace takt {

/// A row of validation/overlap/cases.csv: a kernel with something beside it.
struct InterferenceCase {
  std::string card;                                  ///< a file of topologies/cards by its name
  std::optional<std::array<std::int64_t, 3>> gemm;   ///< m, n, k; none: a triad, which is bound by memory
  std::string beside;                                ///< in words
  Interference interference;
  double measured = 0.0;     ///< throughput kept, as a fraction
  std::string not_modelled;  ///< why no prediction is claimed; empty: it is
  std::string source;
  SourcePlace place{};  ///< of the row
};

/// Columns: card, kernel (gemm, triad), shape ("8192x7168x4096"), beside, ctas, traffic_GBps, measured_percent,
/// not_modelled, source. Errors: a wrong header, a row with another number of cells, a number that is none.
Result<std::vector<InterferenceCase>> read_interference_cases(const SourceText& source);

/// A row of validation/overlap/runs.csv: a whole step.
struct RunCase {
  std::string scenario;      ///< a file beside the cases, or the workload in words if it is not modelled
  std::string metric;
  std::string measured_text; ///< with its unit
  double measured = 0.0;     ///< a fraction; of modelled rows only
  std::string not_modelled;
  std::string source;
  SourcePlace place{};  ///< of the row, whose first cell is the scenario
};

inline constexpr std::string_view run_columns = "scenario,metric,measured,not_modelled,source";

/// Columns: scenario, metric, measured ("92.5 %"; of rows that are not modelled any text), not_modelled, source.
Result<std::vector<RunCase>> read_run_cases(const SourceText& source);

struct InterferenceOutcome {
  InterferenceCase measurement;
  double predicted = 0.0;

  /// (predicted - measured) / measured.
  double error() const { return predicted / measurement.measured - 1.0; }
};

struct RunOutcome {
  RunCase measurement;
  std::optional<double> predicted;  ///< none: the reason is in `not_predicted`
  std::string not_predicted;
};

/// Kernels row by row with their errors, whole steps, what is not modelled and why, and medians.
std::string overlap_validation_table(const std::vector<InterferenceOutcome>& kernels,
                                     const std::vector<RunOutcome>& runs);

/// Every row as CSV: kernels (the throughput that they keep), then steps (the share that they hide), in percent.
std::string overlap_rows_csv(const std::vector<InterferenceOutcome>& kernels, const std::vector<RunOutcome>& runs);

/// The median of the absolute errors of the modelled rows; 0 without any.
double median_interference_error(const std::vector<InterferenceOutcome>& outcomes);

}  // namespace takt
