#include "calibrated_card.hpp"

#include "config/reader.hpp"
#include "options.hpp"
#include "report/format.hpp"
#include "report/kernel_validation.hpp"
#include "report/table.hpp"
#include "workload/precision.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <utility>

namespace takt {
namespace {

constexpr std::size_t fewest_products = 40;

SourcePlace command_line() {
  SourcePlace place;
  place.file = "command line";
  return place;
}

using Products = std::map<Precision, std::vector<Measurement>>;

/// Products by precision. Errors: rows in a precision that the card lacks, the first of each.
Result<Products> products_of(const CardSpec& card, const std::vector<Measurement>& measured) {
  Products products;
  std::map<Precision, Diagnostic> lacking;
  for (const Measurement& one : measured) {
    const bool computes = one.kind == MeasuredKind::gemm || one.kind == MeasuredKind::attention ||
                          one.kind == MeasuredKind::sustained;
    if (one.card != card.id || !computes) continue;
    if (card.dense_peak.count(one.precision) == 0) {
      lacking.try_emplace(one.precision,
                          Diagnostic{Severity::error, one.place,
                                     fmt::format("{} rows of {} in {}, which the card does not have",
                                                 name_of(one.kind), card.id, name_of(one.precision)),
                                     "see [peak] of " + card.file});
    } else if (one.kind == MeasuredKind::gemm) {
      products[one.precision].push_back(one);
    }
  }
  if (lacking.empty()) return products;
  Diagnostics errors;
  for (auto& [precision, error] : lacking) errors.push_back(std::move(error));
  return errors;
}

/// Another card's constants with an efficiency that no card's file may have, told at the product that is farthest from
/// what the other card's constants say.
Diagnostic impossible_efficiency(const CardSpec& card, const FittedGemm& fit, const GemmConstants& theirs,
                                 const std::vector<Measurement>& products) {
  const auto distance = [&](const Measurement& one) {
    return std::abs(std::log(modelled_gemm_seconds(card, theirs, gemm_point(one).shape) / one.seconds));
  };
  const Measurement& farthest =
      *std::max_element(products.begin(), products.end(),
                        [&](const Measurement& a, const Measurement& b) { return distance(a) < distance(b); });
  const double efficiency = fit.calibration.constants.efficiency;
  return {Severity::error, farthest.place,
          fmt::format("gemm.{}.efficiency of {} would be {:.3g}, a card's file has {} to {}: products are {} than the "
                      "card can be, {}x{}x{} most of all",
                      name_of(fit.precision), card.id, efficiency, least_gemm_efficiency, most_gemm_efficiency,
                      efficiency > most_gemm_efficiency ? "faster" : "slower", farthest.shape[0], farthest.shape[1],
                      farthest.shape[2]),
          "see the sizes and units of the rows, and [peak] of " + card.file};
}

Result<FittedGemm> fitted_products(const CardSpec& card, const std::vector<Measurement>& products,
                                   const std::optional<CardSpec>& like, const std::string& source) {
  const Precision precision = products.front().precision;
  std::vector<GemmPoint> points;
  std::transform(products.begin(), products.end(), std::back_inserter(points), gemm_point);
  if (like) {
    const GemmCalibration* own = gemm_calibration(*like, precision);
    if (own == nullptr || !own->like.empty())
      return usage_error(like->id + " has no constants of its own in " + std::string(name_of(precision)));
    FittedGemm fit = scaled_gemm(card, *like, points, source);
    const double efficiency = fit.calibration.constants.efficiency;
    if (!(efficiency >= least_gemm_efficiency && efficiency <= most_gemm_efficiency))
      return impossible_efficiency(card, fit, own->constants, products);
    return fit;
  }
  const std::string remedy = fmt::format(
      "measure at least {} of ten weight shapes, or scale another card's fit: --like h200-sxm", fewest_products);
  if (points.size() < fewest_products)
    return usage_error(fmt::format("{} products of {} in {} are too few", points.size(), card.id, name_of(precision)),
                       remedy);
  if (!has_shapes_to_hold_out(points))
    return usage_error(fmt::format("{} products of {} in {} are of too few weight shapes (N, K): errors are those of "
                                   "shapes held out of the fit",
                                   points.size(), card.id, name_of(precision)),
                       remedy);
  return fitted_gemm(card, points, source);
}

std::string products_table(const std::vector<CalibratedCard>& cards) {
  Table table({{"card"},
               {"precision"},
               {"products", Align::right},
               {"median", Align::right},
               {"90th pct", Align::right},
               {"of peak", Align::right},
               {"launch", Align::right},
               {"of bandwidth", Align::right},
               {"constants"}});
  for (const CalibratedCard& of_card : cards) {
    for (const FittedGemm& fit : of_card.products) {
      const GemmConstants& c = fit.calibration.constants;
      const std::string& like = fit.calibration.like;
      table.row({of_card.card.id, std::string(name_of(fit.precision)), std::to_string(fit.points),
                 format_share(fit.median), format_share(fit.p90), format_share(c.efficiency),
                 format_number(c.launch_us) + " us", format_share(c.memory), like.empty() ? "own" : "of " + like});
    }
  }
  if (table.empty()) return "";
  return "GEMM model fitted; errors of weight shapes held out (a quarter at a time), of all rows where another card's "
         "constants were scaled\n\n" +
         table.text();
}

std::string shares_table(const std::vector<CalibratedCard>& cards) {
  Table table({{"card"},
               {"efficiency"},
               {"before", Align::right},
               {"now", Align::right},
               {"rows", Align::right},
               {"median", Align::right},
               {"90th pct", Align::right}});
  for (const CalibratedCard& of_card : cards) {
    for (const FittedShare& share : of_card.efficiency.shares) {
      table.row({of_card.card.id, share.key, format_number(of_card.card.efficiency.*share.member),
                 format_number(share.value), std::to_string(share.rows), format_share(share.median),
                 format_share(share.p90)});
    }
  }
  if (table.empty()) return "";
  return "Shares of the roofline fitted; errors of the same rows\n\n" + table.text();
}

std::string kernels_table(const std::vector<CalibratedCard>& cards) {
  std::vector<CardKernels> kernels;
  for (const CalibratedCard& of_card : cards) kernels.push_back({of_card.card.id, of_card.kernels});
  return kernel_errors_table(kernels);
}

}  // namespace

Result<CalibratedCard> calibrated_card(const CardRequest& request, const std::vector<Measurement>& measured,
                                       Library& library) {
  const Result<CardSpec> card = library.card(request.card, command_line());
  if (!card) return card.diagnostics();
  std::optional<CardSpec> like;
  if (request.like) {
    const Result<CardSpec> other = library.card(*request.like, command_line());
    if (!other) return other.diagnostics();
    like = *other;
  }
  const Result<Products> products = products_of(*card, measured);
  if (!products) return products.diagnostics();
  CalibratedCard result{*card, {}, {}, {}, sustained_share(measured, card->id)};
  Diagnostics errors;
  for (const auto& [precision, points] : *products) {
    Result<FittedGemm> fit = fitted_products(*card, points, like, request.source);
    if (fit)
      result.products.push_back(*std::move(fit));
    else
      errors.insert(errors.end(), fit.diagnostics().begin(), fit.diagnostics().end());
  }
  Result<FittedEfficiency> efficiency = fit_efficiency(*card, measured);
  if (!efficiency) errors.insert(errors.end(), efficiency.diagnostics().begin(), efficiency.diagnostics().end());
  if (!errors.empty()) return errors;
  result.efficiency = *std::move(efficiency);
  result.kernels = kernel_errors(result.efficiency.card, measured);
  return result;
}

std::string calibrated_text(const std::vector<CalibratedCard>& cards) {
  std::string text;
  std::string lasting;
  for (const CalibratedCard& of_card : cards) {
    if (of_card.sustained)
      lasting += fmt::format("{}: products that last run at {} of the rate of short ones\n", of_card.card.id,
                             format_share(*of_card.sustained));
  }
  for (const std::string& part : {products_table(cards), lasting, shares_table(cards), kernels_table(cards)}) {
    if (!part.empty()) text += (text.empty() ? "" : "\n") + part;
  }
  return text;
}

Result<std::vector<OutputFile>> files_of(const CalibratedCard& calibrated, const std::string& folder,
                                         const std::string& source) {
  std::vector<OutputFile> files;
  for (const FittedGemm& fit : calibrated.products) {
    if (!fit.calibration.like.empty()) continue;
    files.push_back({folder + '/' + residual_file_of(calibrated.card, fit.precision),
                     write_gemm_residuals(*fit.calibration.residuals)});
  }
  const Result<SourceText> text = read_text_file(calibrated.card.file);
  if (!text) return text.diagnostics();
  std::string changed = with_efficiency(with_gemm_sections(text->text, calibrated.card, calibrated.products),
                                        calibrated.efficiency, source);
  if (calibrated.sustained) changed = with_sustained(std::move(changed), *calibrated.sustained);
  const Result<CardSpec> read = read_card({calibrated.card.file, changed});
  if (!read) return read.diagnostics();  // a constant out of its range
  if (!is_as_fitted(*read, calibrated.efficiency)) {
    SourcePlace place;
    place.file = calibrated.card.file;
    return Diagnostic{Severity::error, place, "the file's [efficiency] cannot be changed",
                      "write it as a section, one key a line, in a copy of the file"};
  }
  // Tables of precisions that were not measured go along: the card's file refers to them.
  for (const auto& [precision, calibration] : read->gemm) {
    const bool is_fitted = std::any_of(calibrated.products.begin(), calibrated.products.end(),
                                       [kind = precision](const FittedGemm& fit) { return fit.precision == kind; });
    if (is_fitted || calibration.residual_file.empty()) continue;
    const std::string own = std::filesystem::path(calibrated.card.file).parent_path().string();
    const Result<SourceText> table = read_text_file(own + '/' + calibration.residual_file);
    if (!table) return table.diagnostics();
    files.push_back({folder + '/' + calibration.residual_file, table->text});
  }
  files.push_back({folder + '/' + calibrated.card.id + ".toml", changed});
  return files;
}

}  // namespace takt
