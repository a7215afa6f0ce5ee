#include "calibration/step_fit.hpp"

#include "calibration/minimise.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>

namespace takt {
namespace {

constexpr double smoothing = 0.02;    ///< errors below it count by their square
constexpr double pull = 1e-4;         ///< keeps a constant that no row depends on at its prior
constexpr double least_share = 0.05;  ///< of its prediction that a row's time may fall to, so that logarithms exist
constexpr int rounds = 1200;
constexpr double first_step = 0.1;

struct Weighted {
  const StepFitRow* row = nullptr;
  double weight = 0.0;
};

std::vector<Weighted> weighted_rows(std::span<const StepFitRow> rows) {
  std::map<std::string, double> counts;
  for (const StepFitRow& row : rows) counts[row.publisher] += 1.0;
  std::vector<Weighted> weighted;
  for (const StepFitRow& row : rows) weighted.push_back({&row, 1.0 / std::sqrt(counts.at(row.publisher))});
  return weighted;
}

std::vector<StepFitRow> rows_without(std::span<const StepFitRow> rows, std::string StepFitRow::*key,
                                     const std::string& value) {
  std::vector<StepFitRow> kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept),
               [&](const StepFitRow& row) { return row.*key != value; });
  return kept;
}

/// The search walks in logarithms, so that constants stay positive.
GlobalConstants constants_of(const std::vector<double>& logarithms) {
  GlobalConstants constants;
  for (std::size_t i = 0; i < logarithms.size(); ++i) constants.*global_constants()[i].value = std::exp(logarithms[i]);
  return constants;
}

}  // namespace

double linear_prediction(const StepFitRow& row, const GlobalConstants& at, const GlobalConstants& constants) {
  double seconds = row.predicted_s;
  for (std::size_t i = 0; i < row.slopes.size(); ++i) {
    const auto member = global_constants()[i].value;
    seconds += row.slopes[i] * (constants.*member - at.*member);
  }
  return std::max(seconds, least_share * row.predicted_s);
}

GlobalConstants fit_global_constants(std::span<const StepFitRow> rows, const GlobalConstants& at) {
  const std::vector<Weighted> weighted = weighted_rows(rows);
  const auto badness = [&](const std::vector<double>& logarithms) {
    const GlobalConstants constants = constants_of(logarithms);
    double sum = 0.0;
    for (const auto& [row, weight] : weighted) {
      const double error = std::log(linear_prediction(*row, at, constants) / row->measured_s);
      sum += weight * (std::sqrt(error * error + smoothing * smoothing) - smoothing);
    }
    for (std::size_t i = 0; i < logarithms.size(); ++i) {
      const double away = logarithms[i] - std::log(global_constants()[i].prior);
      sum += pull * away * away;
    }
    return sum;
  };
  const std::vector<double> start(global_constants().size(), first_step);
  const std::vector<double> steps(start.size(), first_step);
  const Minimum first = minimise(badness, start, steps, rounds);
  return constants_of(minimise(badness, first.at, steps, rounds).at);  // a fresh simplex leaves a flat first one
}

GlobalConstants fit_without_publisher(std::span<const StepFitRow> rows, const GlobalConstants& at,
                                      const std::string& publisher) {
  return fit_global_constants(rows_without(rows, &StepFitRow::publisher, publisher), at);
}

GlobalConstants fit_without_architecture(std::span<const StepFitRow> rows, const GlobalConstants& at,
                                         const std::string& architecture) {
  GlobalConstants constants = fit_global_constants(rows_without(rows, &StepFitRow::architecture, architecture), at);
  // Products take what the other architecture's do, not their prior.
  if (architecture == "Ampere") constants.gemm_ampere = constants.gemm_hopper;
  if (architecture == "Hopper") constants.gemm_hopper = constants.gemm_ampere;
  return constants;
}

}  // namespace takt
