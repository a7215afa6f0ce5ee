// takt calibrate: measurements of a card become its file.
#include "calibration/card_file.hpp"
#include "commands.hpp"
#include "config/library.hpp"
#include "output_file.hpp"
#include "report/format.hpp"
#include "report/table.hpp"
#include "workload/precision.hpp"

#include <filesystem>
#include <map>
#include <ostream>

namespace takt {
namespace {

constexpr std::size_t fewest_points = 40;

using PointsByCard = std::map<std::string, std::map<Precision, std::vector<GemmPoint>>>;

struct Calibrated {
  CardSpec card;
  std::vector<FittedGemm> fits;
};

SourcePlace command_line() {
  SourcePlace place;
  place.file = "command line";
  return place;
}

Result<Calibrated> calibrated(const std::string& id, const std::map<Precision, std::vector<GemmPoint>>& points,
                              const ParsedOptions& options, Library& library) {
  const std::string source = options.value("source").value_or(options.arguments.front());
  const Result<CardSpec> card = library.card(id, command_line());
  if (!card) return card.diagnostics();
  std::optional<CardSpec> like;
  if (options.has("like")) {
    const Result<CardSpec> other = library.card(*options.value("like"), command_line());
    if (!other) return other.diagnostics();
    like = *other;
  }
  Calibrated result{*card, {}};
  Diagnostics errors;
  for (const auto& [precision, of_precision] : points) {
    const std::string what = id + " in " + std::string(name_of(precision));
    if (card->dense_peak.count(precision) == 0) {
      errors.push_back(
          usage_error("the file has products of " + what + ", which the card does not have", "see [peak] of its file"));
    } else if (like &&
               (gemm_calibration(*like, precision) == nullptr || !gemm_calibration(*like, precision)->like.empty())) {
      errors.push_back(usage_error(like->id + " has no constants of its own in " + std::string(name_of(precision))));
    } else if (like) {
      result.fits.push_back(scaled_gemm(*card, *like, of_precision, source));
    } else if (of_precision.size() < fewest_points) {
      errors.push_back(usage_error(std::to_string(of_precision.size()) + " products of " + what + " are too few",
                                   "measure at least " + std::to_string(fewest_points) +
                                       " of ten weight shapes, or scale another card's fit: --like h200-sxm"));
    } else {
      result.fits.push_back(fitted_gemm(*card, of_precision, source));
    }
  }
  if (!errors.empty()) return errors;
  return result;
}

std::string fits_table(const std::vector<Calibrated>& cards) {
  Table table({{"card"},
               {"precision"},
               {"products", Align::right},
               {"median", Align::right},
               {"90th pct", Align::right},
               {"of peak", Align::right},
               {"launch", Align::right},
               {"of bandwidth", Align::right}});
  for (const Calibrated& of_card : cards) {
    for (const FittedGemm& fit : of_card.fits) {
      const GemmConstants& c = fit.calibration.constants;
      table.row({of_card.card.id, std::string(name_of(fit.precision)), std::to_string(fit.points),
                 format_share(fit.median), format_share(fit.p90), format_share(c.efficiency),
                 format_number(c.launch_us) + " us", format_share(c.memory)});
    }
  }
  return "GEMM model fitted; errors of weight shapes held out (a quarter at a time)\n\n" + table.text();
}

std::optional<Diagnostic> write_card(const Calibrated& calibrated, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder + "/gemm", failed);
  if (failed) return usage_error("cannot make " + folder + "/gemm: " + failed.message());
  for (const FittedGemm& fit : calibrated.fits) {
    if (!fit.calibration.like.empty()) continue;
    const std::string file = folder + '/' + residual_file_of(calibrated.card, fit.precision);
    if (auto error = write_file(file, write_gemm_residuals(*fit.calibration.residuals))) return error;
  }
  const Result<SourceText> text = read_text_file(calibrated.card.file);
  if (!text) return text.diagnostics().front();
  return write_file(folder + '/' + calibrated.card.id + ".toml",
                    with_gemm_sections(text->text, calibrated.card, calibrated.fits));
}

ExitStatus execute(const ParsedOptions& options, const Environment& environment) {
  if (options.arguments.size() != 1) {
    environment.err << render(
        usage_error("takt calibrate needs one file of measurements", "see takt calibrate --help"));
    return ExitStatus::wrong_usage;
  }
  const Result<SourceText> text = read_text_file(options.arguments.front());
  const Result<std::vector<GemmPoint>> points =
      text ? read_gemm_points(*text) : Result<std::vector<GemmPoint>>(text.diagnostics());
  environment.err << render(points.diagnostics());
  if (!points) return ExitStatus::invalid;
  PointsByCard by_card;
  for (const GemmPoint& point : *points) by_card[point.card][point.shape.precision].push_back(point);

  Library library(search_path(environment.takt_path));
  std::vector<Calibrated> cards;
  for (const auto& [id, of_card] : by_card) {
    Result<Calibrated> result = calibrated(id, of_card, options, library);
    environment.err << render(result.diagnostics());
    if (!result) return ExitStatus::invalid;
    cards.push_back(std::move(*result));
  }
  environment.out << fits_table(cards);
  if (!options.has("out")) return ExitStatus::done;
  for (const Calibrated& of_card : cards) {
    if (const std::optional<Diagnostic> error = write_card(of_card, *options.value("out"))) {
      environment.err << render(*error);
      return ExitStatus::invalid;
    }
  }
  return ExitStatus::done;
}

}  // namespace

Command calibrate_command() {
  return {"calibrate",
          "FILE.csv",
          "measurements of a card become its file",
          "Fits the GEMM model to measured matrix products (columns card, precision, m, n, k, ms) "
          "and says how well it predicts weight shapes that were held out. "
          "--out writes the card's file with the constants, and what the constants leave beside it. With few products, "
          "--like takes the constants of another card and fits only how much of its peak this one reaches.",
          {{"out", "FOLDER", "write the card's file and its residuals there", {}},
           {"like", "CARD", "scale the fit of another card, for as little as one product", {}},
           {"source", "TEXT", "where the measurements come from, for the card's file; default: the file's name", {}}},
          "takt calibrate validation/kernels/gemm.csv",
          execute};
}

}  // namespace takt
