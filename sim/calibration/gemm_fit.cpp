#include "calibration/gemm_fit.hpp"

#include "base/contract.hpp"
#include "base/quantile.hpp"
#include "base/text.hpp"
#include "calibration/minimise.hpp"
#include "config/csv.hpp"
#include "workload/precision.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace takt {
namespace {

bool casts_activations(Precision precision) {
  return precision == Precision::fp8 || precision == Precision::nvfp4;
}

/// Numbers of the search to constants and back; rates and depths on a logarithmic scale.
std::vector<double> packed(const GemmConstants& c) {
  return {
      std::log(c.efficiency), c.partial_wave, c.small_tile, std::log(c.depth_start), c.launch_us, std::log(c.memory),
      c.power_drop,           c.cache_drop,   c.quantise_ps};
}

GemmConstants unpacked(const std::vector<double>& x, bool casts) {
  return {.efficiency = std::clamp(std::exp(x[0]), least_gemm_efficiency, most_gemm_efficiency),
          .partial_wave = std::clamp(x[1], 0.0, 1.0),
          .small_tile = std::clamp(x[2], 0.0, 0.5),
          .depth_start = std::clamp(std::exp(x[3]), 1.0, 1000.0),
          .launch_us = std::clamp(x[4], 0.0, 50.0),
          .memory = std::clamp(std::exp(x[5]), 0.3, 1.2),
          .power_drop = std::clamp(x[6], 0.0, 0.2),
          .cache_drop = std::clamp(x[7], -0.2, 0.3),
          .quantise_ps = casts ? std::clamp(x[8], 1.0, 2000.0) : 0.0};
}

const std::vector<double> first_steps = {0.1, -0.3, -0.05, 0.5, 2.0, -0.1, 0.02, 0.05, 100.0};

/// |error| with a rounded corner of 1 %.
double smoothed(double error) {
  constexpr double corner = 0.01;
  return std::sqrt(error * error + corner * corner) - corner;
}

double log_error(const CardSpec& card, const GemmConstants& constants, const GemmPoint& point) {
  return std::log(modelled_gemm_seconds(card, constants, point.shape) / point.seconds);
}

std::vector<GemmPoint> thinned(std::span<const GemmPoint> points, std::size_t most) {
  const std::size_t stride = std::max<std::size_t>(1, points.size() / std::max<std::size_t>(1, most));
  std::vector<GemmPoint> kept;
  for (std::size_t i = 0; i < points.size(); i += stride) kept.push_back(points[i]);
  return kept;
}

/// Where a search starts. Casting the activations is a kernel of its own, with its own launch.
GemmConstants first_guess(bool casts) {
  GemmConstants guess;
  if (casts) {
    guess.launch_us = 11.0;
    guess.quantise_ps = 200.0;
  }
  return guess;
}

/// Searches twice, the second time from a fresh simplex around the first answer.
std::vector<double> searched(const std::function<double(const std::vector<double>&)>& loss, bool casts, int rounds) {
  const Minimum first = minimise(loss, packed(first_guess(casts)), first_steps, rounds / 2);
  return minimise(loss, first.at, first_steps, rounds - rounds / 2).at;
}

Result<GemmPoint> point_of(const CsvTable& table, const CsvRow& row) {
  const std::optional<Precision> precision = precision_named(row.cells[1]);
  if (!precision) {
    return table.error_in(row, 1, fmt::format("no precision is called \"{}\"", row.cells[1]),
                          "bf16, fp16, tf32, fp32, fp8, nvfp4 or mxfp8");
  }
  std::array<std::int64_t, 3> sizes{};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::optional<std::int64_t> size = count_in(row.cells[2 + i], 1);
    if (!size) return table.error_in(row, 2 + i, "m, n and k are whole numbers, at least 1");
    sizes[i] = *size;
  }
  const std::optional<double> milliseconds = number_in(row.cells[5]);
  if (!milliseconds || !(*milliseconds > 0.0)) return table.error_in(row, 5, "ms is a positive number");
  return GemmPoint{row.cells[0], {sizes[0], sizes[1], sizes[2], *precision}, *milliseconds * 1e-3, row.line};
}

}  // namespace

Result<std::vector<GemmPoint>> read_gemm_points(const SourceText& source) {
  return read_rows<GemmPoint>(source, gemm_columns, point_of);
}

GemmCalibration fit_gemm(const CardSpec& card, std::span<const GemmPoint> points, const GemmFitOptions& options) {
  expects(points.size() >= fewest_to_fit, "enough products to fit nine constants");
  const bool casts = casts_activations(points.front().shape.precision);
  const std::vector<GemmPoint> used = thinned(points, options.most_points);
  const auto loss = [&](const std::vector<double>& x) {
    const GemmConstants constants = unpacked(x, casts);
    double sum = 0.0;
    for (const GemmPoint& point : used) sum += smoothed(log_error(card, constants, point));
    return sum / static_cast<double>(used.size());
  };
  GemmCalibration calibration;
  calibration.constants = unpacked(searched(loss, casts, options.rounds), casts);
  calibration.residuals = std::make_shared<GemmResiduals>(residuals_of(card, calibration.constants, points));
  return calibration;
}

GemmConstants with_fitted_efficiency(const CardSpec& card, GemmConstants constants, std::span<const GemmPoint> points) {
  constexpr int rounds = 4;  // times are nearly, not quite, inverse to the efficiency
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> errors;
    for (const GemmPoint& point : points) errors.push_back(log_error(card, constants, point));
    constants.efficiency *= std::exp(quantile(std::move(errors), 0.5));
  }
  return constants;
}

GemmConstants fit_shared_gemm(std::span<const CardSpec> cards, std::span<const std::vector<GemmPoint>> points,
                              const GemmFitOptions& options) {
  expects(!cards.empty() && cards.size() == points.size(), "points of each card");
  const bool casts = casts_activations(points.front().front().shape.precision);
  std::vector<std::vector<GemmPoint>> used;
  for (const auto& of_card : points) used.push_back(thinned(of_card, options.most_points / cards.size()));
  const auto loss = [&](const std::vector<double>& x) {
    double sum = 0.0;
    for (std::size_t c = 0; c < cards.size(); ++c) {
      const GemmConstants constants = with_fitted_efficiency(cards[c], unpacked(x, casts), used[c]);
      double of_card = 0.0;
      for (const GemmPoint& point : used[c]) of_card += smoothed(log_error(cards[c], constants, point));
      sum += of_card / static_cast<double>(used[c].size());
    }
    return sum;
  };
  GemmConstants shared = unpacked(searched(loss, casts, options.rounds), casts);
  shared.efficiency = GemmConstants{}.efficiency;
  return shared;
}

GemmResiduals residuals_of(const CardSpec& card, const GemmConstants& constants, std::span<const GemmPoint> points) {
  struct Mean {
    double sum = 0.0;
    double count = 0.0;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::int64_t, Mean>> by_shape;
  std::map<std::int64_t, double> rows;
  for (const GemmPoint& point : points) {
    Mean& mean = by_shape[{point.shape.n, point.shape.k}][point.shape.m];
    mean.sum -= log_error(card, constants, point);
    mean.count += 1.0;
    rows[point.shape.m] = std::log2(static_cast<double>(point.shape.m));
  }
  GemmResiduals residuals;
  for (const auto& [m, log2_m] : rows) residuals.log2_m.push_back(log2_m);
  for (const auto& [weights, means] : by_shape) {
    GemmResiduals::Cell cell{
        std::log2(static_cast<double>(weights.first)), std::log2(static_cast<double>(weights.second)), {}};
    for (const auto& [m, log2_m] : rows) {  // a missing m takes the nearest of its shape
      auto near = means.lower_bound(m);
      if (near == means.end()) near = std::prev(near);
      cell.log_ratio.push_back(near->second.sum / near->second.count);
    }
    residuals.cells.push_back(std::move(cell));
  }
  return residuals;
}

bool is_held_out(const GemmShape& shape, std::uint64_t part, std::uint64_t parts) {
  return stable_hash(fmt::format("{} x {}", shape.n, shape.k)) % parts == part;
}

std::vector<double> held_out_seconds(const CardSpec& card, std::span<const GemmPoint> points, std::uint64_t parts,
                                     const GemmFitOptions& options) {
  std::vector<double> seconds(points.size());
  for (std::uint64_t part = 0; part < parts; ++part) {
    std::vector<GemmPoint> rest;
    for (const GemmPoint& point : points)
      if (!is_held_out(point.shape, part, parts)) rest.push_back(point);
    const GemmCalibration calibration = fit_gemm(card, rest, options);
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (is_held_out(points[i].shape, part, parts))
        seconds[i] = estimate_gemm(card, calibration, points[i].shape).seconds;
    }
  }
  return seconds;
}

std::vector<double> held_out_errors(const CardSpec& card, std::span<const GemmPoint> points, std::uint64_t parts,
                                    const GemmFitOptions& options) {
  std::vector<double> errors = held_out_seconds(card, points, parts, options);
  for (std::size_t i = 0; i < points.size(); ++i) errors[i] = std::abs(errors[i] / points[i].seconds - 1.0);
  return errors;
}

}  // namespace takt
