#include "report/step_validation.hpp"

#include "base/contract.hpp"
#include "base/csv.hpp"
#include "base/quantile.hpp"
#include "report/format.hpp"
#include "report/step_residuals.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace takt {
namespace {

/// Recorded when the constants were fitted, with a little room: a change that makes predictions worse leaves them.
constexpr double most_median = 0.055, most_p90 = 0.18, most_bias = 0.03;
/// What the project promises, each publisher left out.
constexpr double most_left_out_median = 0.08, most_left_out_p90 = 0.18;

void append(std::vector<std::string>& list, std::vector<std::string> more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::string signed_share(double share) {
  return (share < 0.0 ? "-" : "+") + format_share(std::abs(share));
}

using Ratios = std::map<std::string, std::vector<double>>;

Ratios ratios_by(const std::vector<StepOutcome>& outcomes, std::string StepCase::*key,
                 double (StepOutcome::*ratio)() const) {
  Ratios ratios;
  for (const StepOutcome& outcome : outcomes) {
    if (outcome.not_predicted.empty()) ratios[outcome.row.*key].push_back((outcome.*ratio)());
  }
  return ratios;
}

StepScore score_of(const std::vector<StepOutcome>& outcomes, double (StepOutcome::*ratio)() const) {
  std::vector<double> all, medians;
  for (const auto& [publisher, ratios] : ratios_by(outcomes, &StepCase::publisher, ratio)) {
    all.insert(all.end(), ratios.begin(), ratios.end());
    medians.push_back(summary_of(ratios).median);
  }
  if (all.empty()) return {};
  return {summary_of(std::move(all)), quantile(std::move(medians), 0.5)};
}

bool has_left_out(const std::vector<StepOutcome>& outcomes) {
  return std::any_of(outcomes.begin(), outcomes.end(), [](const StepOutcome& o) { return o.left_out_s > 0.0; });
}

std::vector<std::string> summary_cells(const ErrorSummary& summary) {
  return {format_share(summary.median), format_share(summary.p90), signed_share(summary.signed_median)};
}

std::string grouped_table(const std::vector<StepOutcome>& outcomes, const char* title, std::string StepCase::*key) {
  const bool left_out = has_left_out(outcomes);
  std::vector<Column> columns{
      {title}, {"rows", Align::right}, {"median", Align::right}, {"90th pct", Align::right}, {"signed", Align::right}};
  if (left_out) {
    for (const char* name : {"left out: median", "90th pct", "signed"}) columns.push_back({name, Align::right});
  }
  Table table(std::move(columns));
  const Ratios without = ratios_by(outcomes, key, &StepOutcome::left_out_ratio);
  for (const auto& [group, ratios] : ratios_by(outcomes, key, &StepOutcome::ratio)) {
    std::vector<std::string> cells{group, format_count(static_cast<std::int64_t>(ratios.size()))};
    for (std::string& cell : summary_cells(summary_of(ratios))) cells.push_back(std::move(cell));
    if (left_out) {
      for (std::string& cell : summary_cells(summary_of(without.at(group)))) cells.push_back(std::move(cell));
    }
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

std::string refitted_text(const StepReport& report) {
  std::vector<Column> columns{{"constant"}, {"recorded", Align::right}, {"all rows", Align::right}};
  for (const auto& [publisher, constants] : report.without_publisher) columns.push_back({"-" + publisher, Align::right});
  Table table(std::move(columns));
  const GlobalConstants recorded = recorded_global_constants();
  for (const GlobalConstant& constant : global_constants()) {
    std::vector<std::string> cells{constant.name, fmt::format("{:.3f}", recorded.*constant.value),
                                   fmt::format("{:.3f}", *report.refitted.*constant.value)};
    for (const auto& [publisher, constants] : report.without_publisher)
      cells.push_back(fmt::format("{:.3f}", constants.*constant.value));
    table.row(std::move(cells));
  }
  return table.text() + '\n';
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

StepScores scores_of(const std::vector<StepOutcome>& outcomes) {
  StepScores scores{score_of(outcomes, &StepOutcome::ratio), {}};
  if (has_left_out(outcomes)) scores.left_out = score_of(outcomes, &StepOutcome::left_out_ratio);
  return scores;
}

std::string step_validation_text(const StepReport& report) {
  std::string text = scope_text(report);
  text += grouped_table(report.outcomes, "publisher", &StepCase::publisher);
  text += grouped_table(report.outcomes, "family", &StepCase::family);
  text += grouped_table(report.outcomes, "machine", &StepCase::machine);
  text += grouped_table(report.outcomes, "method", &StepCase::method);
  if (!report.without_publisher.empty())
    text += refitted_text(report);
  else if (report.refitted)
    text += constants_text(report.bases, *report.refitted) + '\n';
  for (const StepOutcome& outcome : report.outcomes) {
    if (!outcome.not_predicted.empty()) text += fmt::format("row {}: {}\n", outcome.row.row, outcome.not_predicted);
  }
  const StepScores scores = scores_of(report.outcomes);
  text += score_line("all scored rows", scores.fitted);
  if (scores.left_out.all.rows > 0) {
    text += score_line("each publisher left out", scores.left_out);
  }
  if (report.without_publisher.size() >= 2) text += '\n' + residuals_text(report.outcomes);
  return text;
}

std::string step_rows_csv(const StepReport& report) {
  std::string text = "row,publisher,family,machine,model,method,measured_s,predicted_s,ratio,left_out_s,error,excluded,other_architectures_s\n";
  const auto row_of = [](const StepCase& row) {
    return fmt::format("{},{},{},{},{},{},{:.6g}", csv_cell(row.row), csv_cell(row.publisher), csv_cell(row.family),
                       csv_cell(row.machine), csv_cell(row.model), csv_cell(row.method), row.measured_s);
  };
  const auto seconds = [](double value) { return value > 0.0 ? fmt::format("{:.6g}", value) : ""; };
  for (const StepOutcome& o : report.outcomes) {
    if (!o.not_predicted.empty()) {
      text += fmt::format("{},,,,,{},\n", row_of(o.row), csv_cell(o.not_predicted));
      continue;
    }
    text += fmt::format("{},{:.6g},{:.4f},{},{:.6g},,{}\n", row_of(o.row), o.predicted_s, o.ratio(),
                        seconds(o.left_out_s), o.ratio() - 1.0, seconds(o.other_architectures_s));
  }
  for (const StepCase& row : report.excluded) text += fmt::format("{},,,,,{},\n", row_of(row), csv_cell(row.excluded));
  return text;
}

std::vector<std::string> left_step_bounds(const StepReport& report) {
  std::vector<std::string> left;
  for (const StepOutcome& outcome : report.outcomes) {
    if (!outcome.not_predicted.empty()) left.push_back("training step " + outcome.row.row + " cannot run");
  }
  const auto check = [&left](const char* what, double value, double bound) {
    if (value > bound)
      left.push_back(fmt::format("training steps: {} {}, recorded {}", what, format_share(value), format_share(bound)));
  };
  const StepScores scores = scores_of(report.outcomes);
  check("median error", scores.fitted.all.median, most_median);
  check("90th percentile", scores.fitted.all.p90, most_p90);
  check("signed median", std::abs(scores.fitted.all.signed_median), most_bias);
  if (report.refitted) append(left, left_constant_bounds(report.bases, *report.refitted));
  if (report.without_publisher.empty()) return left;
  check("median over publishers left out", scores.left_out.publishers, most_left_out_median);
  check("90th percentile left out", scores.left_out.all.p90, most_left_out_p90);
  check("signed median left out", std::abs(scores.left_out.all.signed_median), most_bias);
  append(left, left_interval_bounds(report.outcomes));
  return left;
}

}  // namespace takt
