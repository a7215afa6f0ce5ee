#include "report/step_residuals.hpp"

#include "base/quantile.hpp"
#include "report/format.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

namespace takt {
namespace {

constexpr double below = 0.05, above = 0.95;             ///< nine tenths lie between
constexpr double least_covered = 0.85, most_covered = 0.95;
constexpr double rounding = 0.01;                        ///< the intervals of step_interval.hpp have two digits

PredictionInterval interval_without(const std::vector<StepOutcome>& outcomes, const std::string& publisher) {
  std::vector<double> values;
  for (const StepOutcome& o : outcomes) {
    if (o.row.publisher != publisher) values.push_back(1.0 / o.left_out_ratio());
  }
  return {quantile(values, below), quantile(values, above)};
}

/// measured / predicted with a weight, ascending.
using Weighted = std::vector<std::pair<double, double>>;

Weighted between_architectures(const std::vector<StepOutcome>& outcomes) {
  std::map<std::string, double> counts;
  for (const StepOutcome& o : outcomes) counts[o.architecture] += 1.0;
  Weighted values;
  for (const StepOutcome& o : outcomes)
    values.emplace_back(1.0 / o.other_architectures_ratio(), 1.0 / counts.at(o.architecture));
  std::sort(values.begin(), values.end());
  return values;
}

/// The value up to which `share` of the weight lies.
double quantile_of(const Weighted& values, double share) {
  constexpr double rounding_of_sums = 1e-9;
  double total = 0.0, sum = 0.0;
  for (const auto& [value, weight] : values) total += weight;
  for (const auto& [value, weight] : values) {
    sum += weight;
    if (sum >= (share - rounding_of_sums) * total) return value;
  }
  return values.back().first;
}

std::string signed_share(double share) {
  return (share < 0.0 ? "-" : "+") + format_share(std::abs(share));
}

std::string architectures_table(const std::vector<StepOutcome>& outcomes) {
  std::map<std::string, std::vector<double>> ratios;
  for (const StepOutcome& o : outcomes) ratios[o.architecture].push_back(o.other_architectures_ratio());
  Table table({{"architecture left out"},
               {"rows", Align::right},
               {"median", Align::right},
               {"90th pct", Align::right},
               {"signed", Align::right}});
  for (const auto& [architecture, values] : ratios) {
    const ErrorSummary summary = summary_of(values);
    table.row({architecture, format_count(static_cast<std::int64_t>(summary.rows)), format_share(summary.median),
               format_share(summary.p90), signed_share(summary.signed_median)});
  }
  return table.text();
}

void check_interval(const char* what, const PredictionInterval& recorded, const PredictionInterval& now, std::vector<std::string>& left) {
  if (std::abs(recorded.low - now.low) <= rounding && std::abs(recorded.high - now.high) <= rounding) return;
  left.push_back(fmt::format("{}: {:.2f} to {:.2f} of the prediction, recorded {:.2f} to {:.2f}", what, now.low,
                             now.high, recorded.low, recorded.high));
}

}  // namespace

ResidualInterval left_out_interval(const std::vector<StepOutcome>& outcomes) {
  ResidualInterval interval{interval_without(outcomes, ""), 0.0};
  std::map<std::string, PredictionInterval> of_others;
  for (const StepOutcome& o : outcomes) {
    if (of_others.count(o.row.publisher) == 0)
      of_others.emplace(o.row.publisher, interval_without(outcomes, o.row.publisher));
  }
  for (const StepOutcome& o : outcomes) {
    if (of_others.at(o.row.publisher).holds(1.0 / o.left_out_ratio()))
      interval.coverage += 1.0 / static_cast<double>(outcomes.size());
  }
  return interval;
}

PredictionInterval interval_between_architectures(const std::vector<StepOutcome>& outcomes) {
  const Weighted values = between_architectures(outcomes);
  return {quantile_of(values, below), quantile_of(values, above)};
}

std::vector<std::string> published_architectures(const std::vector<StepOutcome>& outcomes) {
  constexpr std::size_t least_publishers = 2;
  std::map<std::string, std::set<std::string>> publishers;
  for (const StepOutcome& o : outcomes) publishers[o.architecture].insert(o.row.publisher);
  std::vector<std::string> published;
  for (const auto& [architecture, names] : publishers) {
    if (names.size() >= least_publishers) published.push_back(architecture);
  }
  return published;
}

std::string residuals_text(const std::vector<StepOutcome>& outcomes) {
  const ResidualInterval interval = left_out_interval(outcomes);
  const PredictionInterval wide = interval_between_architectures(outcomes);
  return architectures_table(outcomes) +
         fmt::format(
             "\nnine tenths of left-out rows take {:.2f} to {:.2f} of their prediction; {} lie within what the other "
             "publishers' rows say\nwith each architecture left out, all weighing the same, {:.2f} to {:.2f}: the "
             "interval of cards without published steps\n",
             interval.parts.low, interval.parts.high, format_share(interval.coverage), wide.low, wide.high);
}

std::vector<std::string> left_interval_bounds(const std::vector<StepOutcome>& outcomes) {
  std::vector<std::string> left;
  const ResidualInterval interval = left_out_interval(outcomes);
  if (interval.coverage < least_covered || interval.coverage > most_covered)
    left.push_back(fmt::format("{} of left-out training steps lie within their interval, asked for 85 to 95 %",
                               format_share(interval.coverage)));
  check_interval("left-out training steps", published_interval, interval.parts, left);
  check_interval("training steps, architecture left out", unpublished_interval,
                 interval_between_architectures(outcomes), left);
  for (const std::string& architecture : published_architectures(outcomes)) {
    if (!has_published_steps(architecture))
      left.push_back("two publishers have steps of " + architecture + ", which takes the interval of those without");
  }
  return left;
}

}  // namespace takt
