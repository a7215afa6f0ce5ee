// Summaries of errors, the interval of left-out rows, and the picture.
#include "catch.hpp"
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
  const StepInterval interval = interval_of(two_publishers());
  // Of ten values the 5 % and 95 % quantiles lie inside the outermost: eight of ten are within.
  CHECK(interval.coverage == Approx(0.8));
  CHECK(interval.low < 1.0);
  CHECK(interval.high > 1.0);
}

TEST_CASE("a row that cannot run and a summary that is worse than recorded leave a bound", "[report]") {
  std::vector<StepOutcome> rows = two_publishers();
  CHECK(left_step_bounds(rows).empty());
  rows.front().not_predicted = "there is no model \"m\"";
  CHECK(left_step_bounds(rows) == std::vector<std::string>{"training step a cannot run"});
  for (StepOutcome& row : rows) row.predicted_s *= 1.3;
  CHECK(left_step_bounds(rows).size() == 4);
}

TEST_CASE("the picture has a point for each row and a legend for each publisher", "[report]") {
  const std::string svg = step_scatter_svg(two_publishers());
  std::size_t circles = 0;
  for (std::size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) ++circles;
  CHECK(circles == 20 + 2);
  CHECK(svg.find(">two</text>") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
}
