#include "workload/gemm_model.hpp"

#include "base/contract.hpp"
#include "workload/precision.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace takt {
namespace {

constexpr double copy_efficiency = 0.9;  ///< of the memory bandwidth, for casts

double waves_paid(double waves, double partial_wave) {
  return waves < 1.0 ? 1.0 : waves + partial_wave * (std::ceil(waves) - waves);
}

struct Terms {
  double compute = 0.0, memory = 0.0, launch = 0.0, quantise = 0.0;

  double seconds() const {
    const double larger = std::max(compute, memory);
    const double ratio = std::min(compute, memory) / larger;
    const double squared = ratio * ratio;
    return launch + quantise + larger * std::sqrt(std::sqrt(1.0 + squared * squared));
  }
};

/// Rate that the SMs sustain together, FLOP/s.
double sustained_rate(const CardSpec& card, const GemmConstants& constants, const GemmShape& shape, double bytes) {
  const double peak = card.dense_peak.at(shape.precision).count();
  constexpr double warm_seconds = 1e-3;
  const double warmth = std::clamp(std::log2(shape.flops() / (peak * warm_seconds)), 0.0, 7.0);
  const double spill = std::clamp(std::log2(bytes / static_cast<double>(card.l2_cache.count())), -1.0, 2.0);
  // A product of narrower operands takes less energy an operation.
  const double heat = peak * 1e-12 * operand_bytes(shape.precision) / 2.0 / card.tdp.count();
  return constants.efficiency * peak / (1.0 + constants.power_drop * warmth * heat + constants.cache_drop * spill);
}

double compute_seconds(const CardSpec& card, const GemmConstants& constants, const GemmShape& shape, double rate) {
  constexpr std::array tiles = {256.0, 128.0, 64.0};
  constexpr std::array splits = {1.0, 2.0, 4.0, 8.0};
  constexpr double least_split_depth = 512.0;
  const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
  const double sms = static_cast<double>(card.sm_count);
  double best = std::numeric_limits<double>::infinity();
  for (const double tile_m : tiles) {
    for (const double tile_n : tiles) {
      const double tiles_in_all = std::ceil(m / tile_m) * std::ceil(n / tile_n);
      const double loss = 1.0 + constants.small_tile * ((128.0 / tile_m + 128.0 / tile_n) / 2.0 - 1.0);
      const double tile_work = 2.0 * tile_m * tile_n * sms * loss / rate;
      for (const double split : splits) {
        if (split > 1.0 && k / split < least_split_depth) break;
        const double waves = waves_paid(tiles_in_all * split / sms, constants.partial_wave);
        double seconds = waves * tile_work * (k / split + constants.depth_start);
        // Partial sums in FP32, written and read by a share of the memory that other work leaves.
        if (split > 1.0) seconds += 8.0 * split * m * n / (3.0 * card.memory_bandwidth.count());
        best = std::min(best, seconds);
      }
    }
  }
  return best;
}

/// Casting the activations, a kernel before the product: its reads of memory (what it writes stays in the cache) and
/// the SMs' work one after the other, as three cards' tables separate them.
double streamed_cast(const CardSpec& card, const GemmConstants& constants, double elements) {
  if (constants.quantise_ps == 0.0) return 0.0;
  constexpr double read_bytes = 2.0;
  return elements * (read_bytes / (copy_efficiency * card.memory_bandwidth.count()) +
                     constants.quantise_ps * 1e-12 / static_cast<double>(card.sm_count));
}

/// The floor of a product that finds its operands in their format: that of the card's products in 16 bits.
double plain_launch_us(const CardSpec& card, const GemmConstants& constants) {
  const GemmCalibration* plain = gemm_calibration(card, Precision::bf16);
  return plain == nullptr ? constants.launch_us : std::min(constants.launch_us, plain->constants.launch_us);
}

Terms terms_of(const CardSpec& card, const GemmConstants& constants, const GemmShape& shape) {
  expects(card.dense_peak.count(shape.precision) > 0, "a product in a precision the card has");
  const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
  const double bytes = operand_bytes(shape.precision) * k * (m + n) + activation_bytes(shape.precision) * m * n;
  const double bandwidth = card.memory_bandwidth.count();
  const double rate = sustained_rate(card, constants, shape, bytes);
  return {.compute = compute_seconds(card, constants, shape, rate),
          .memory = bytes / (constants.memory * bandwidth),
          .launch = (shape.casts ? constants.launch_us : plain_launch_us(card, constants)) * 1e-6,
          .quantise = shape.casts ? streamed_cast(card, constants, m * k) : 0.0};
}

/// The value of a cell at `log2_m`, between the two nearest m; beyond the grid the nearest.
double at_rows(const GemmResiduals& residuals, const GemmResiduals::Cell& cell, double log2_m) {
  const std::vector<double>& grid = residuals.log2_m;
  const auto above = std::lower_bound(grid.begin(), grid.end(), log2_m);
  if (above == grid.begin()) return cell.log_ratio.front();
  if (above == grid.end()) return cell.log_ratio.back();
  const auto right = static_cast<std::size_t>(above - grid.begin());
  const double share = (log2_m - grid[right - 1]) / (grid[right] - grid[right - 1]);
  return cell.log_ratio[right - 1] * (1.0 - share) + cell.log_ratio[right] * share;
}

}  // namespace

const GemmCalibration* gemm_calibration(const CardSpec& card, Precision precision) {
  auto found = card.gemm.find(precision);
  if (found == card.gemm.end() && precision == Precision::fp16) found = card.gemm.find(Precision::bf16);
  if (found == card.gemm.end() && precision == Precision::bf16) found = card.gemm.find(Precision::fp16);
  return found == card.gemm.end() ? nullptr : &found->second;
}

double modelled_gemm_seconds(const CardSpec& card, const GemmConstants& constants, const GemmShape& shape) {
  return terms_of(card, constants, shape).seconds();
}

double expected_log_ratio(const GemmResiduals& residuals, const GemmShape& shape) {
  constexpr std::size_t neighbours = 6;
  constexpr double nearest = 0.05;  // squared distance at which weights stop growing
  constexpr double fade = 4.0;      // squared distance at which no residual at all weighs as much as one shape
  using Near = std::pair<double, std::size_t>;  // squared distance, cell
  std::array<Near, neighbours> near;
  near.fill({std::numeric_limits<double>::infinity(), 0});
  const double log2_n = std::log2(static_cast<double>(shape.n));
  const double log2_k = std::log2(static_cast<double>(shape.k));
  for (std::size_t i = 0; i < residuals.cells.size(); ++i) {
    const double dn = log2_n - residuals.cells[i].log2_n, dk = log2_k - residuals.cells[i].log2_k;
    Near candidate{dn * dn + dk * dk, i};
    if (!(candidate < near.back())) continue;
    for (Near& place : near)
      if (candidate < place) std::swap(candidate, place);
  }
  const double log2_m = std::log2(static_cast<double>(shape.m));
  double weights = 1.0 / (nearest + fade);
  double sum = 0.0;
  for (const auto& [distance, cell] : near) {
    if (!std::isfinite(distance)) continue;
    const double weight = 1.0 / (nearest + distance);
    weights += weight;
    sum += weight * at_rows(residuals, residuals.cells[cell], log2_m);
  }
  return sum / weights;
}

double cast_seconds(const CardSpec& card, const GemmCalibration& calibration, double elements) {
  if (calibration.constants.quantise_ps == 0.0) return 0.0;
  const double launch_us = calibration.constants.launch_us - plain_launch_us(card, calibration.constants);
  return launch_us * 1e-6 + streamed_cast(card, calibration.constants, elements);
}

GemmEstimate estimate_gemm(const CardSpec& card, const GemmCalibration& calibration, const GemmShape& shape) {
  const Terms terms = terms_of(card, calibration.constants, shape);
  GemmEstimate estimate;
  estimate.model_seconds = terms.seconds();
  const double correction = calibration.residuals ? std::exp(expected_log_ratio(*calibration.residuals, shape)) : 1.0;
  estimate.seconds = estimate.model_seconds * correction;
  estimate.interval = calibration.interval;
  estimate.limit = terms.compute >= terms.memory ? GemmLimit::compute : GemmLimit::memory;
  if (terms.launch > std::max(terms.compute, terms.memory)) estimate.limit = GemmLimit::launch;
  return estimate;
}

}  // namespace takt
