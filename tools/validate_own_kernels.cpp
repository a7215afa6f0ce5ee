#include "validate_own_kernels.hpp"

#include "calibration/efficiency_fit.hpp"
#include "report/kernel_table.hpp"
#include "report/kernel_validation.hpp"
#include "workload/precision.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace takt {
namespace {

using Cards = std::map<std::string, CardSpec>;

/// The cards that kernels name, by id; each must have the precisions of its products and attention.
Result<Cards> cards_of(const std::vector<Measurement>& kernels, Library& library) {
  Cards cards;
  for (const Measurement& one : kernels) {
    if (cards.count(one.card) == 0) {
      const Result<CardSpec> card = library.card(one.card, one.place);
      if (!card) return card.diagnostics();
      cards.emplace(one.card, *card);
    }
    const CardSpec& card = cards.at(one.card);
    const bool computes = one.kind == MeasuredKind::gemm || one.kind == MeasuredKind::attention;
    if (!computes || card.dense_peak.count(one.precision) > 0) continue;
    return Diagnostic{Severity::error, one.place, card.name + " does not have " + std::string(name_of(one.precision)),
                      "see [peak] of " + card.file};
  }
  return cards;
}

ProductOutcome outcome_of(const Measurement& product, const CardSpec& card) {
  const GemmPoint point = gemm_point(product);
  const PricedKernel priced = priced_gemm(KernelPricer(card, ComputeBasis::measured), point.shape);
  return {point, to_seconds(priced.kernel.time), priced.interval.relative, 0.0};
}

std::optional<double> predicted(const Measurement& one, const CardSpec& card) {
  const std::optional<Kernel> kernel = priced_measurement(card, one);
  return kernel ? std::optional(to_seconds(kernel->time)) : std::nullopt;
}

}  // namespace

Result<ValidatedPart> score_own_kernels(const std::string& file, Library& library) {
  const Result<SourceText> text = read_text_file(file);
  if (!text) return text.diagnostics();
  Result<std::vector<Measurement>> kernels = read_measurements(*text);
  if (!kernels) return kernels.diagnostics();
  std::erase_if(*kernels, [](const Measurement& one) { return one.kind >= MeasuredKind::sustained; });
  const Result<Cards> cards = cards_of(*kernels, library);
  if (!cards) return cards.diagnostics();
  std::vector<ProductOutcome> products;
  std::string rows;
  for (const Measurement& one : *kernels) {
    const CardSpec& card = cards->at(one.card);
    if (one.kind == MeasuredKind::gemm)
      products.push_back(outcome_of(one, card));
    else
      rows += kernel_row_csv(one, predicted(one, card));
  }
  std::vector<CardKernels> others;
  for (const auto& [id, card] : *cards) others.push_back({id, kernel_errors(card, *kernels)});
  ValidatedPart part{"", {}, kernel_row_columns + product_rows_csv(products) + rows};
  if (!products.empty()) part.text = product_table(products);
  const std::string table = kernel_errors_table(others);
  part.text += (part.text.empty() || table.empty() ? "" : "\n") + table;
  return part;
}

}  // namespace takt
