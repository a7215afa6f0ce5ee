#include "report/kernel_points_table.hpp"
#include "report/kernel_table.hpp"
#include "report/kernel_validation.hpp"
#include "validate_own_kernels.hpp"
#include "validation.hpp"
#include "workload/precision.hpp"

#include <map>

namespace takt {
namespace {

/// The cards that `points` name, by id; each must have the precisions of its points.
Result<std::map<std::string, CardSpec>> cards_of(const std::vector<GemmPoint>& points, const std::string& file,
                                                 Library& library) {
  std::map<std::string, CardSpec> cards;
  for (const GemmPoint& point : points) {
    const SourcePlace place{file, point.line, 1, ""};
    if (cards.count(point.card) == 0) {
      const Result<CardSpec> card = library.card(point.card, place);
      if (!card) return card.diagnostics();
      cards.emplace(point.card, *card);
    }
    const CardSpec& card = cards.at(point.card);
    if (card.dense_peak.count(point.shape.precision) > 0) continue;
    return Diagnostic{Severity::error, place,
                      card.name + " does not have " + std::string(name_of(point.shape.precision)),
                      "see [peak] of " + card.file};
  }
  return cards;
}

ProductOutcome outcome_of(const GemmPoint& point, const CardSpec& card) {
  const KernelPricer pricer(card, ComputeBasis::measured);
  const PricedKernel priced = priced_gemm(pricer, point.shape);
  return {point, to_seconds(priced.kernel.time), priced.interval.relative, 0.0};
}

/// What the scores held out, beside what the cards' files say.
void add_held_out(std::vector<ProductOutcome>& outcomes, const std::vector<GemmScore>& scores) {
  for (const GemmScore& score : scores) {
    std::size_t next = 0;
    for (ProductOutcome& outcome : outcomes) {
      const bool is_its = outcome.point.card == score.card && outcome.point.shape.precision == score.precision;
      if (is_its) outcome.held_out_s = score.held_out_s[next++];
    }
  }
}

/// Kernels that others published one by one. Errors: the file cannot be read, or names what is not there.
Diagnostics add_published(ValidatedPart& part, const std::string& file, Library& library) {
  const Result<SourceText> text = read_text_file(file);
  if (!text) return text.diagnostics();
  const Result<std::vector<KernelPoint>> points = read_kernel_points(*text);
  if (!points) return points.diagnostics();
  const Result<std::vector<PointScore>> scores = score_points(*points, library);
  if (!scores) return scores.diagnostics();
  part.text += '\n' + kernel_points_table(*points, *scores);
  part.csv += point_rows_csv(*points, *scores);
  for (std::string& left : left_point_bounds(*scores)) part.left_bounds.push_back(std::move(left));
  return {};
}

}  // namespace

Result<ValidatedPart> validate_kernels(const ValidationRows& rows, Library& library) {
  if (rows.table) return score_own_kernels(*rows.table, library);
  const Result<SourceText> text = read_text_file(rows.folder + "/gemm.csv");
  if (!text) return text.diagnostics();
  const Result<std::vector<GemmPoint>> points = read_gemm_points(*text);
  if (!points) return points.diagnostics();
  const Result<std::map<std::string, CardSpec>> cards = cards_of(*points, text->file, library);
  if (!cards) return cards.diagnostics();
  std::vector<ProductOutcome> outcomes;
  for (const GemmPoint& point : *points) outcomes.push_back(outcome_of(point, cards->at(point.card)));
  const std::vector<GemmScore> scores =
      score_gemm(*points, [&cards](const std::string& id) -> const CardSpec& { return cards->at(id); });
  add_held_out(outcomes, scores);
  ValidatedPart part{kernel_validation_table(scores), {}, kernel_row_columns + product_rows_csv(outcomes)};
  for (const GemmScore& score : scores) {
    if (!is_within_bounds(score)) part.left_bounds.push_back("matrix products on " + score.card);
  }
  const double coverage = one_number_coverage(scores);
  const GemmBounds bounds;
  if (coverage < bounds.least_within || coverage > bounds.most_within)
    part.left_bounds.push_back("the interval of cards with one number");
  if (Diagnostics errors = add_published(part, rows.folder + "/published.csv", library); !errors.empty()) return errors;
  return part;
}

}  // namespace takt
