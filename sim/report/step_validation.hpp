// Measured training steps against predictions: `takt validate --steps`.
#pragma once

#include "report/step_cases.hpp"
#include "workload/global_constants.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace takt {

/// A scored row.
struct StepOutcome {
  StepCase row;
  double predicted_s = 0.0;
  double left_out_s = 0.0;    ///< with constants fitted without the row's publisher; 0: not asked for
  std::string not_predicted;  ///< why it could not run; empty: it did

  double ratio() const { return predicted_s / row.measured_s; }
  double left_out_ratio() const { return left_out_s / row.measured_s; }
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

/// Where nine tenths of measured / predicted lie.
struct StepInterval {
  double low = 1.0, high = 1.0;
  double coverage = 0.0;  ///< share of rows within the interval that the other publishers' rows give
};

/// Of left-out predictions; needs rows of two publishers at least.
StepInterval interval_of(const std::vector<StepOutcome>& outcomes);

StepScores scores_of(const std::vector<StepOutcome>& outcomes);

struct StepReport {
  std::vector<StepOutcome> outcomes;  ///< scored rows
  std::vector<StepCase> excluded;     ///< rows that left by a rule
  std::map<std::string, std::string> rules;
  std::map<std::string, GlobalConstants> refitted;  ///< by the publisher left out; "" = to all rows
};

/// Rows in and out, errors by publisher, family, machine and method, and the constants.
std::string step_validation_text(const StepReport& report);

/// Each row with what was predicted for it, or why nothing was.
std::string step_rows_csv(const StepReport& report);

/// Summaries that leave what was recorded when they were last looked at, in words; rows that could not run.
std::vector<std::string> left_step_bounds(const std::vector<StepOutcome>& outcomes);

}  // namespace takt
