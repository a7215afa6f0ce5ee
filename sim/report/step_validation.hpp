// Measured training steps against predictions: `takt validate --steps`.
#pragma once

#include "report/step_cases.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace takt {

/// A scored row.
struct StepOutcome {
  StepCase row;
  double predicted_s = 0.0;
  std::string not_predicted;  ///< why it could not run; empty: it did

  double ratio() const { return predicted_s / row.measured_s; }
};

/// Of ratios predicted / measured; errors are |ratio - 1|.
struct ErrorSummary {
  std::size_t rows = 0;
  double median = 0.0, p90 = 0.0;
  double signed_median = 0.0;  ///< of ratio - 1
};

/// Needs at least one ratio.
ErrorSummary summary_of(std::vector<double> ratios);

/// What all scored rows come to.
struct StepScore {
  ErrorSummary all;
  double publishers = 0.0;  ///< median over publishers of their median errors
};

StepScore score_of(const std::vector<StepOutcome>& outcomes);

struct StepReport {
  std::vector<StepOutcome> outcomes;  ///< scored rows
  std::vector<StepCase> excluded;     ///< rows that left by a rule
  std::map<std::string, std::string> rules;
};

/// Rows in and out, errors by publisher, family, machine and method.
std::string step_validation_text(const StepReport& report);

/// Each scored row with what was predicted for it.
std::string step_rows_csv(const std::vector<StepOutcome>& outcomes);

/// Summaries that leave what was recorded when they were last looked at, in words; rows that could not run.
std::vector<std::string> left_step_bounds(const std::vector<StepOutcome>& outcomes);

}  // namespace takt
