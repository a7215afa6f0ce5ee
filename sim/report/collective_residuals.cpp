#include "report/collective_residuals.hpp"

#include "base/quantile.hpp"
#include "report/format.hpp"
#include "report/table.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace takt {
namespace {

constexpr double below = 0.05, above = 0.95;  ///< nine tenths lie between
constexpr double least_covered = 0.85, most_covered = 0.95;
constexpr double rounding = 0.01;             ///< recorded intervals have two digits

constexpr std::array<CollectiveWay, collective_ways> ways{CollectiveWay::nvswitch, CollectiveWay::bridge,
                                                          CollectiveWay::peer_to_peer, CollectiveWay::host,
                                                          CollectiveWay::network};

double measured_over_predicted(const CollectiveOutcome& outcome) {
  return outcome.measurement.measured_us / outcome.left_out_us;
}

/// Of the rows of a way but those of one machine; none: there are no such rows.
std::optional<PredictionInterval> interval_without(const std::vector<CollectiveOutcome>& outcomes, CollectiveWay way,
                                                   const std::string& machine) {
  std::vector<double> values;
  for (const CollectiveOutcome& o : outcomes) {
    if (o.way == way && o.measurement.machine != machine) values.push_back(measured_over_predicted(o));
  }
  if (values.empty()) return std::nullopt;
  return PredictionInterval{quantile(values, below), quantile(values, above)};
}

/// Rows of a way that lie within what the way's other machines say.
std::size_t held_rows(const std::vector<CollectiveOutcome>& outcomes, CollectiveWay way) {
  std::map<std::string, std::optional<PredictionInterval>> of_others;
  std::size_t held = 0;
  for (const CollectiveOutcome& o : outcomes) {
    if (o.way != way) continue;
    const std::string& machine = o.measurement.machine;
    if (of_others.count(machine) == 0) of_others.emplace(machine, interval_without(outcomes, way, machine));
    const std::optional<PredictionInterval>& interval = of_others.at(machine);
    if (interval && interval->holds(measured_over_predicted(o))) ++held;
  }
  return held;
}

}  // namespace

std::vector<CollectiveResiduals> residuals_by_way(const std::vector<CollectiveOutcome>& outcomes) {
  std::vector<CollectiveResiduals> residuals;
  for (const CollectiveWay way : ways) {
    const std::optional<PredictionInterval> interval = interval_without(outcomes, way, "");
    if (!interval) continue;
    std::size_t rows = 0;
    std::set<std::string> machines;
    for (const CollectiveOutcome& o : outcomes) {
      if (o.way != way) continue;
      ++rows;
      machines.insert(o.measurement.machine);
    }
    const double held = static_cast<double>(held_rows(outcomes, way)) / static_cast<double>(rows);
    residuals.push_back({way, rows, machines.size(), *interval, held});
  }
  return residuals;
}

double coverage_of(const std::vector<CollectiveOutcome>& outcomes) {
  double held = 0.0, rows = 0.0;
  for (const CollectiveResiduals& of : residuals_by_way(outcomes)) {
    held += of.held * static_cast<double>(of.rows);
    rows += static_cast<double>(of.rows);
  }
  return held / rows;
}

std::string collective_residuals_text(const std::vector<CollectiveOutcome>& outcomes) {
  Table table({{"over"},
               {"machines", Align::right},
               {"rows", Align::right},
               {"nine tenths take of their prediction", Align::right},
               {"within the others'", Align::right}});
  for (const CollectiveResiduals& of : residuals_by_way(outcomes)) {
    table.row({to_text(of.way), format_count(static_cast<std::int64_t>(of.machines)),
               format_count(static_cast<std::int64_t>(of.rows)),
               fmt::format("{:.2f} to {:.2f}", of.parts.low, of.parts.high), format_share(of.held)});
  }
  return table.text() + fmt::format("{} of all rows lie within what the other machines of their way say\n",
                                    format_share(coverage_of(outcomes)));
}

std::vector<std::string> left_collective_intervals(const std::vector<CollectiveOutcome>& outcomes) {
  std::vector<std::string> left;
  const double coverage = coverage_of(outcomes);
  if (coverage < least_covered || coverage > most_covered)
    left.push_back(fmt::format("{} of left-out collectives lie within their interval, asked for 85 to 95 %",
                               format_share(coverage)));
  for (const CollectiveResiduals& of : residuals_by_way(outcomes)) {
    const PredictionInterval recorded = collective_interval(of.way);
    if (std::abs(recorded.low - of.parts.low) <= rounding && std::abs(recorded.high - of.parts.high) <= rounding)
      continue;
    left.push_back(fmt::format("collectives over {}: {:.2f} to {:.2f} of the prediction, recorded {:.2f} to {:.2f}",
                               to_text(of.way), of.parts.low, of.parts.high, recorded.low, recorded.high));
  }
  return left;
}

}  // namespace takt
