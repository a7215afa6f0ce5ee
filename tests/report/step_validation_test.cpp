// Summaries of errors, the interval of left-out rows, and the picture.
#include "catch.hpp"
#include "report/step_residuals.hpp"
#include "report/step_scatter.hpp"
#include "report/step_validation.hpp"

using namespace takt;

namespace {

StepOutcome outcome(const char* row, const char* publisher, double measured, double predicted, double left_out) {
  StepOutcome made;
  made.row.row = row;
  made.row.publisher = publisher;
  made.row.measured_s = measured;
  made.predicted_s = predicted;
  made.left_out_s = left_out;
  return made;
}

/// Measured / predicted with its architecture left out.
StepOutcome between(const char* architecture, double measured_over_predicted) {
  StepOutcome made = outcome("a", "one", measured_over_predicted, 1.0, 1.0);
  made.architecture = architecture;
  made.other_architectures_s = 1.0;
  return made;
}

/// Ten rows of each of two publishers, predicted 0.90, 0.92, ... 1.08 times.
std::vector<StepOutcome> two_publishers() {
  std::vector<StepOutcome> rows;
  for (int i = 0; i < 10; ++i) {
    const double ratio = 0.90 + 0.02 * i;
    rows.push_back(outcome("a", "one", 1.0, ratio, ratio));
    rows.push_back(outcome("b", "two", 100.0, 100.0 * ratio, 100.0 * ratio));
  }
  return rows;
}

}  // namespace

TEST_CASE("errors are |ratio - 1|; their signed median is the ratios'", "[report]") {
  // ratios .9 1 1.1 1.4: errors .1 0 .1 .4, median .1, 90th percentile between .1 and .4 at .7: .31
  const ErrorSummary summary = summary_of({0.9, 1.0, 1.1, 1.4});
  CHECK(summary.rows == 4);
  CHECK(summary.median == Approx(0.1));
  CHECK(summary.p90 == Approx(0.31));
  CHECK(summary.signed_median == Approx(0.05));
}

TEST_CASE("a publisher counts once in the median over publishers", "[report]") {
  std::vector<StepOutcome> rows = two_publishers();
  rows.push_back(outcome("c", "three", 1.0, 1.5, 1.5));
  // medians of errors: .05 (0 .02 .02 .04 .04 .06 .06 .08 .08 .1), .05, .5
  CHECK(scores_of(rows).fitted.publishers == Approx(0.05));
  CHECK(scores_of(rows).left_out.all.rows == 21);
}

TEST_CASE("the interval of left-out rows holds what the other publisher's rows say", "[report]") {
  const ResidualInterval interval = left_out_interval(two_publishers());
  // Of ten values the 5 % and 95 % quantiles lie inside the outermost: eight of ten are within.
  CHECK(interval.coverage == Approx(0.8));
  CHECK(interval.parts.low < 1.0);
  CHECK(interval.parts.high > 1.0);
}

TEST_CASE("architectures weigh the same in the interval of those without steps", "[report]") {
  // Of one 100 rows within 1 %, of the other 10 at 1.20 to 1.29 of their prediction.
  std::vector<StepOutcome> rows;
  for (int i = 0; i < 100; ++i) rows.push_back(between("Ampere", 0.99 + 0.0002 * i));
  for (int i = 0; i < 10; ++i) rows.push_back(between("Blackwell", 1.20 + 0.01 * i));
  const PredictionInterval interval = interval_between_architectures(rows);
  CHECK(interval.low == Approx(0.99 + 0.0002 * 9));  // a tenth of the first's rows
  CHECK(interval.high == Approx(1.28));              // all but a tenth of the second's
}

TEST_CASE("intervals that the rows do not give, and too few or too many rows within, leave a bound", "[report]") {
  std::vector<StepOutcome> rows = two_publishers();
  for (StepOutcome& row : rows) {
    row.architecture = "Ampere";
    row.other_architectures_s = row.left_out_s;
  }
  const std::vector<std::string> left = left_interval_bounds(rows);
  REQUIRE(left.size() == 3);
  CHECK(left[0] == "80.0 % of left-out training steps lie within their interval, asked for 85 to 95 %");
  CHECK(left[1].starts_with("left-out training steps: 0.93 to 1.11 of the prediction, recorded "));
  for (StepOutcome& row : rows) row.architecture = "Ada";
  CHECK(left_interval_bounds(rows).back() ==
        "two publishers have steps of Ada, which takes the interval of those without");
}

TEST_CASE("constants that differ from their fit, rest on nothing or are too many leave a bound", "[report]") {
  std::vector<ConstantBasis> bases(global_constants().size(), ConstantBasis{{{"R1", "one", 0.5}}});
  GlobalConstants fitted = recorded_global_constants();
  CHECK(left_constant_bounds(bases, fitted).empty());
  fitted.elementwise *= 1.02;
  bases[0].rows.clear();
  const std::vector<std::string> left = left_constant_bounds(bases, fitted);
  REQUIRE(left.size() == 2);
  CHECK(left[0] == "no scored step moves with gemm_ampere");
  CHECK(left[1].starts_with("elementwise is recorded as "));
}

TEST_CASE("a row that cannot run and a summary that is worse than recorded leave a bound", "[report]") {
  StepReport report;
  report.outcomes = two_publishers();
  CHECK(left_step_bounds(report).empty());
  report.outcomes.front().not_predicted = "there is no model \"m\"";
  CHECK(left_step_bounds(report) == std::vector<std::string>{"training step a cannot run"});
  for (StepOutcome& row : report.outcomes) row.predicted_s *= 1.3;
  CHECK(left_step_bounds(report).size() == 4);
}

TEST_CASE("the picture has a point for each row and a legend for each publisher", "[report]") {
  const std::string svg = step_scatter_svg(two_publishers());
  std::size_t circles = 0;
  for (std::size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) ++circles;
  CHECK(circles == 20 + 2);
  CHECK(svg.find(">two</text>") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
}
