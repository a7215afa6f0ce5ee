#include "report/kernel_validation.hpp"
#include "validation.hpp"

#include <map>

namespace takt {
namespace {

/// The cards that `points` name, by id.
Result<std::map<std::string, CardSpec>> cards_of(const std::vector<GemmPoint>& points, const std::string& file,
                                                 Library& library) {
  SourcePlace asked_at;
  asked_at.file = file;
  std::map<std::string, CardSpec> cards;
  for (const GemmPoint& point : points) {
    if (cards.count(point.card) > 0) continue;
    const Result<CardSpec> card = library.card(point.card, asked_at);
    if (!card) return card.diagnostics();
    cards.emplace(point.card, *card);
  }
  return cards;
}

}  // namespace

Result<ValidatedPart> validate_kernels(const std::string& folder, Library& library) {
  const Result<SourceText> text = read_text_file(folder + "/gemm.csv");
  if (!text) return text.diagnostics();
  const Result<std::vector<GemmPoint>> points = read_gemm_points(*text);
  if (!points) return points.diagnostics();
  const Result<std::map<std::string, CardSpec>> cards = cards_of(*points, text->file, library);
  if (!cards) return cards.diagnostics();
  const std::vector<GemmScore> scores =
      score_gemm(*points, [&cards](const std::string& id) -> const CardSpec& { return cards->at(id); });
  ValidatedPart part{kernel_validation_table(scores), {}};
  for (const GemmScore& score : scores) {
    if (!is_within_bounds(score)) part.left_bounds.push_back("matrix products on " + score.card);
  }
  return part;
}

}  // namespace takt
