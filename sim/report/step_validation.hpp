// Measured training steps against predictions: `takt validate --steps`.
#pragma once

#include "report/step_cases.hpp"
#include "report/step_constants.hpp"
#include "workload/global_constants.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace takt {

/// A scored row.
struct StepOutcome {
  StepCase row;
  double predicted_s = 0.0;
  double left_out_s = 0.0;    ///< with constants fitted without the row's publisher; 0: not asked for
  double other_architectures_s = 0.0;  ///< with constants fitted without the row's architecture; 0: not asked for
  std::string architecture;            ///< of the cards: "Ampere", ...
  std::string not_predicted;  ///< why it could not run; empty: it did

  double ratio() const { return predicted_s / row.measured_s; }
  double left_out_ratio() const { return left_out_s / row.measured_s; }
  double other_architectures_ratio() const { return other_architectures_s / row.measured_s; }
};

/// Of ratios predicted / measured; errors are |ratio - 1|.
struct ErrorSummary {
  std::size_t rows = 0;
  double median = 0.0, p90 = 0.0;
  double signed_median = 0.0;  ///< of ratio - 1
};

/// Needs at least one ratio.
ErrorSummary summary_of(std::vector<double> ratios);

/// What all scored rows come to, as they are and with each publisher left out.
struct StepScore {
  ErrorSummary all;
  double publishers = 0.0;  ///< median over publishers of their median errors
};

struct StepScores {
  StepScore fitted;
  StepScore left_out;  ///< 0 rows: not asked for
};

StepScores scores_of(const std::vector<StepOutcome>& outcomes);

struct StepReport {
  std::vector<StepOutcome> outcomes;  ///< scored rows
  std::vector<StepCase> excluded;     ///< rows that left by a rule
  std::map<std::string, std::string> rules;
  std::vector<ConstantBasis> bases;                          ///< of global_constants(); empty: not asked for
  std::optional<GlobalConstants> refitted;                   ///< to all rows
  std::map<std::string, GlobalConstants> without_publisher;  ///< by the publisher left out
};

/// Rows in and out, errors by publisher, family, machine and method, and the constants.
std::string step_validation_text(const StepReport& report);

/// Each row with what was predicted for it, or why nothing was.
std::string step_rows_csv(const StepReport& report);

/// Summaries that leave what was recorded when they were last looked at, in words; rows that could not run; and what
/// was refitted, if it was: constants, left-out errors and intervals.
std::vector<std::string> left_step_bounds(const StepReport& report);

}  // namespace takt
