#include "calibration/gemm_score.hpp"

#include "base/quantile.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace takt {
namespace {

using PointsByCard = std::map<std::string, std::vector<GemmPoint>>;

double share_within(const std::vector<double>& errors, double limit) {
  const auto within = std::count_if(errors.begin(), errors.end(), [limit](double error) { return error <= limit; });
  return static_cast<double>(within) / static_cast<double>(errors.size());
}

std::vector<double> errors_of(const CardSpec& card, const GemmConstants& constants, std::span<const GemmPoint> points) {
  std::vector<double> errors;
  for (const GemmPoint& point : points)
    errors.push_back(std::abs(modelled_gemm_seconds(card, constants, point.shape) / point.seconds - 1.0));
  return errors;
}

class Scorer {
 public:
  Scorer(const std::function<const CardSpec&(const std::string&)>& card_of, const GemmScoreOptions& options)
      : card_of_(card_of), options_(options) {}

  GemmScore score(const std::string& id, const PointsByCard& by_card) const {
    const CardSpec& card = card_of_(id);
    const std::vector<GemmPoint>& points = by_card.at(id);
    GemmScore score;
    score.card = id;
    score.precision = points.front().shape.precision;
    score.points = points.size();
    score.held_out_s = held_out_seconds(card, points, options_.parts, options_.fit);
    std::vector<double> errors;
    for (std::size_t i = 0; i < points.size(); ++i)
      errors.push_back(std::abs(score.held_out_s[i] / points[i].seconds - 1.0));
    score.median = quantile(errors, 0.5);
    score.p90 = quantile(errors, 0.9);
    score.worst = quantile(errors, 1.0);
    if (const GemmCalibration* calibration = gemm_calibration(card, score.precision)) {
      score.interval = calibration->interval;
      score.within_interval = share_within(errors, calibration->interval);
    }
    if (by_card.size() > 1) score_left_out(score, card, by_card);
    return score;
  }

 private:
  void score_left_out(GemmScore& score, const CardSpec& card, const PointsByCard& by_card) const {
    std::vector<CardSpec> others;
    std::vector<std::vector<GemmPoint>> measured;
    for (const auto& [id, points] : by_card) {
      if (id == score.card) continue;
      others.push_back(card_of_(id));
      measured.push_back(points);
    }
    GemmConstants shared = fit_shared_gemm(others, measured, options_.shared_fit);
    double log_efficiency = 0.0;
    for (std::size_t i = 0; i < others.size(); ++i)
      log_efficiency += std::log(with_fitted_efficiency(others[i], shared, measured[i]).efficiency);
    shared.efficiency = std::exp(log_efficiency / static_cast<double>(others.size()));
    const std::vector<GemmPoint>& points = by_card.at(score.card);
    score.unknown_within = share_within(errors_of(card, shared, points), no_point_interval(score.precision));
    const std::vector<double> errors = errors_of(card, with_fitted_efficiency(card, shared, points), points);
    score.one_number_median = quantile(errors, 0.5);
    score.one_number_within = share_within(errors, one_number_interval);
  }

  const std::function<const CardSpec&(const std::string&)>& card_of_;
  const GemmScoreOptions& options_;
};

}  // namespace

std::vector<GemmScore> score_gemm(std::span<const GemmPoint> points,
                                  const std::function<const CardSpec&(const std::string&)>& card_of,
                                  const GemmScoreOptions& options) {
  std::map<Precision, PointsByCard> by_precision;
  for (const GemmPoint& point : points) by_precision[point.shape.precision][point.card].push_back(point);
  const Scorer scorer(card_of, options);
  std::vector<GemmScore> scores;
  for (const auto& [precision, by_card] : by_precision)
    for (const auto& [id, of_card] : by_card) scores.push_back(scorer.score(id, by_card));
  std::stable_sort(scores.begin(), scores.end(), [](const GemmScore& a, const GemmScore& b) {
    return std::pair(a.card, a.precision) < std::pair(b.card, b.precision);
  });
  return scores;
}

GemmBounds bounds_of(Precision precision) {
  GemmBounds bounds;
  if (precision == Precision::fp8 || precision == Precision::nvfp4) {
    bounds.median = 0.06;
    bounds.p90 = 0.16;
  }
  return bounds;
}

bool is_within_bounds(const GemmScore& score) {
  const GemmBounds bounds = bounds_of(score.precision);
  const bool has_others = score.unknown_within > 0.0;
  const bool covers = score.interval == 0.0 ||
                      (score.within_interval >= bounds.least_within && score.within_interval <= bounds.most_within);
  return score.median <= bounds.median && score.p90 <= bounds.p90 && covers &&
         (!has_others ||
          (score.one_number_median <= bounds.one_number_median && score.unknown_within >= bounds.least_within));
}

double one_number_coverage(std::span<const GemmScore> scores) {
  double within = 0.0, products = 0.0;
  for (const GemmScore& score : scores) {
    if (score.unknown_within == 0.0) continue;
    within += score.one_number_within * static_cast<double>(score.points);
    products += static_cast<double>(score.points);
  }
  return products > 0.0 ? within / products : 0.0;
}

}  // namespace takt
