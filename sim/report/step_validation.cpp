#include "report/step_validation.hpp"

#include "base/contract.hpp"
#include "calibration/quantile.hpp"
#include "report/format.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace takt {
namespace {

/// Recorded with kernels priced as they run alone, which is too fast; a change that makes predictions worse leaves
/// them.
constexpr double most_median = 0.16, most_p90 = 0.34, most_bias = 0.16;

std::string signed_share(double share) {
  return (share < 0.0 ? "-" : "+") + format_share(std::abs(share));
}

using Ratios = std::map<std::string, std::vector<double>>;

Ratios ratios_by(const std::vector<StepOutcome>& outcomes, std::string StepCase::*key) {
  Ratios ratios;
  for (const StepOutcome& outcome : outcomes) {
    if (outcome.not_predicted.empty()) ratios[outcome.row.*key].push_back(outcome.ratio());
  }
  return ratios;
}

std::vector<std::string> summary_cells(const ErrorSummary& summary) {
  return {format_share(summary.median), format_share(summary.p90), signed_share(summary.signed_median)};
}

std::string grouped_table(const std::vector<StepOutcome>& outcomes, const char* title, std::string StepCase::*key) {
  Table table({{title},
               {"rows", Align::right},
               {"median", Align::right},
               {"90th pct", Align::right},
               {"signed", Align::right}});
  for (const auto& [group, ratios] : ratios_by(outcomes, key)) {
    std::vector<std::string> cells{group, format_count(static_cast<std::int64_t>(ratios.size()))};
    for (std::string& cell : summary_cells(summary_of(ratios))) cells.push_back(std::move(cell));
    table.row(std::move(cells));
  }
  return table.text() + '\n';
}

std::string scope_text(const StepReport& report) {
  std::map<std::string, std::int64_t> counts;
  for (const StepCase& row : report.excluded) ++counts[row.excluded];
  Table table({{"rule"}, {"rows", Align::right}, {"why"}});
  for (const auto& [rule, count] : counts) {
    const auto known = report.rules.find(rule);
    table.row({rule, format_count(count), known == report.rules.end() ? "" : known->second});
  }
  const auto in = static_cast<std::int64_t>(report.outcomes.size() + report.excluded.size());
  std::string text = fmt::format("Training steps, {} published = {} scored + {} left out by rule\n\n", format_count(in),
                                 report.outcomes.size(), report.excluded.size());
  if (!table.empty()) text += table.text() + '\n';
  return text;
}

std::string score_line(const char* name, const StepScore& score) {
  return fmt::format("{}: median {}, 90th pct {}, signed median {}; median over publishers {}\n", name,
                     format_share(score.all.median), format_share(score.all.p90), signed_share(score.all.signed_median),
                     format_share(score.publishers));
}

}  // namespace

ErrorSummary summary_of(std::vector<double> ratios) {
  expects(!ratios.empty(), "a summary of something");
  std::vector<double> errors;
  for (const double ratio : ratios) errors.push_back(std::abs(ratio - 1.0));
  const std::size_t rows = ratios.size();
  return {rows, quantile(errors, 0.5), quantile(std::move(errors), 0.9), quantile(std::move(ratios), 0.5) - 1.0};
}

StepScore score_of(const std::vector<StepOutcome>& outcomes) {
  std::vector<double> all, medians;
  for (const auto& [publisher, ratios] : ratios_by(outcomes, &StepCase::publisher)) {
    all.insert(all.end(), ratios.begin(), ratios.end());
    medians.push_back(summary_of(ratios).median);
  }
  if (all.empty()) return {};
  return {summary_of(std::move(all)), quantile(std::move(medians), 0.5)};
}

std::string step_validation_text(const StepReport& report) {
  std::string text = scope_text(report);
  text += grouped_table(report.outcomes, "publisher", &StepCase::publisher);
  text += grouped_table(report.outcomes, "family", &StepCase::family);
  text += grouped_table(report.outcomes, "machine", &StepCase::machine);
  text += grouped_table(report.outcomes, "method", &StepCase::method);
  for (const StepOutcome& outcome : report.outcomes) {
    if (!outcome.not_predicted.empty()) text += fmt::format("row {}: {}\n", outcome.row.row, outcome.not_predicted);
  }
  const StepScore score = score_of(report.outcomes);
  if (score.all.rows > 0) text += score_line("all scored rows", score);
  return text;
}

std::string step_rows_csv(const std::vector<StepOutcome>& outcomes) {
  std::string text = "row,publisher,family,machine,model,method,measured_s,predicted_s,ratio\n";
  for (const StepOutcome& o : outcomes) {
    text += fmt::format("{},{},{},{},{},{},{:.6g},{:.6g},{:.4f}\n", o.row.row, o.row.publisher, o.row.family,
                        o.row.machine, o.row.model, o.row.method, o.row.measured_s, o.predicted_s, o.ratio());
  }
  return text;
}

std::vector<std::string> left_step_bounds(const std::vector<StepOutcome>& outcomes) {
  std::vector<std::string> left;
  for (const StepOutcome& outcome : outcomes) {
    if (!outcome.not_predicted.empty()) left.push_back("training step " + outcome.row.row + " cannot run");
  }
  const ErrorSummary all = score_of(outcomes).all;
  const auto check = [&left](const char* what, double value, double bound) {
    if (value > bound)
      left.push_back(fmt::format("training steps: {} {}, recorded {}", what, format_share(value), format_share(bound)));
  };
  check("median error", all.median, most_median);
  check("90th percentile", all.p90, most_p90);
  check("signed median", std::abs(all.signed_median), most_bias);
  return left;
}

}  // namespace takt
