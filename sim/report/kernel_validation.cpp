#include "report/kernel_validation.hpp"

#include "base/csv.hpp"
#include "base/quantile.hpp"
#include "report/format.hpp"
#include "report/table.hpp"
#include "workload/precision.hpp"

#include <cmath>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace takt {
namespace {

std::string share_or_dash(double share) {
  return share > 0.0 ? format_share(share) : "-";
}

}  // namespace

std::string kernel_validation_table(const std::vector<GemmScore>& scores) {
  Table table({{"card"},
               {"precision"},
               {"products", Align::right},
               {"median", Align::right},
               {"90th pct", Align::right},
               {"worst", Align::right},
               {"in interval", Align::right},
               {"one number", Align::right},
               {"in its interval", Align::right},
               {"unknown card", Align::right},
               {"bounds"}});
  std::size_t products = 0;
  for (const GemmScore& score : scores) {
    products += score.points;
    table.row({score.card, std::string(name_of(score.precision)), format_count(static_cast<std::int64_t>(score.points)),
               format_share(score.median), format_share(score.p90), format_share(score.worst),
               share_or_dash(score.within_interval), share_or_dash(score.one_number_median),
               share_or_dash(score.one_number_within), share_or_dash(score.unknown_within),
               is_within_bounds(score) ? "held" : "LEFT"});
  }
  const GemmBounds wide = bounds_of(Precision::bf16), narrow = bounds_of(Precision::fp8);
  return fmt::format("Matrix products, {} measured\n\n", format_count(static_cast<std::int64_t>(products))) +
         table.text() +
         fmt::format(
             "\nmedian, 90th pct, worst: relative errors of weight shapes (n, k) held out by hash, a quarter at a "
             "time, "
             "everything\n  fitted to the rest; in interval: share of them within the interval of the card's file\n"
             "one number: median error with the card left out of the fit but its median efficiency given, and share "
             "within {} %:\n  {} of all products\n"
             "unknown card: share within {} % ({} % in FP8 and NVFP4) with nothing of the card given\n"
             "bounds: median {} %, 90th pct {} % ({} %, {} % in FP8 and NVFP4), in interval {} to {} %, one number {} "
             "%,\n"
             "  unknown card at least {} %; of all products with one number {} to {} % in its interval\n",
             one_number_interval * 100, format_share(one_number_coverage(scores)),
             no_point_interval(Precision::bf16) * 100, no_point_interval(Precision::fp8) * 100, wide.median * 100,
             wide.p90 * 100, narrow.median * 100, narrow.p90 * 100, wide.least_within * 100, wide.most_within * 100,
             wide.one_number_median * 100, wide.least_within * 100, wide.least_within * 100, wide.most_within * 100);
}

std::string product_table(const std::vector<ProductOutcome>& outcomes) {
  std::map<std::pair<std::string, Precision>, std::vector<const ProductOutcome*>> groups;
  for (const ProductOutcome& outcome : outcomes)
    groups[{outcome.point.card, outcome.point.shape.precision}].push_back(&outcome);
  Table table({{"card"},
               {"precision"},
               {"products", Align::right},
               {"median", Align::right},
               {"90th pct", Align::right},
               {"worst", Align::right},
               {"signed", Align::right},
               {"in interval", Align::right}});
  for (const auto& [key, group] : groups) {
    std::vector<double> sizes, errors;
    double within = 0.0;
    for (const ProductOutcome* outcome : group) {
      errors.push_back(outcome->error());
      sizes.push_back(std::abs(outcome->error()));
      if (sizes.back() <= outcome->interval) within += 1.0;
    }
    table.row({key.first, std::string(name_of(key.second)), format_count(static_cast<std::int64_t>(group.size())),
               format_share(median(sizes)), format_share(quantile(sizes, 0.9)), format_share(quantile(sizes, 1.0)),
               fmt::format("{:+.1f} %", 100.0 * median(errors)),
               share_or_dash(within / static_cast<double>(group.size()))});
  }
  return fmt::format("Matrix products, {} measured, as the cards' files predict them\n\n",
                     format_count(static_cast<std::int64_t>(outcomes.size()))) +
         table.text();
}

std::string kernel_errors_table(const std::vector<CardKernels>& cards) {
  Table table({{"card"}, {"kernel"}, {"rows", Align::right}, {"median error", Align::right}, {"signed", Align::right}});
  bool any_unpriced = false;
  for (const CardKernels& of_card : cards) {
    for (const KernelErrors& errors : of_card.kernels) {
      table.row({of_card.card, errors.what + (errors.priced ? "" : " *"), std::to_string(errors.rows),
                 format_share(errors.median), fmt::format("{:+.1f} %", 100.0 * errors.signed_median)});
      any_unpriced = any_unpriced || !errors.priced;
    }
  }
  if (table.empty()) return "";
  return "Kernels as the card's file prices them\n\n" + table.text() +
         (any_unpriced ? "* without a price of its own: set against flash attention\n" : "");
}

std::string kernel_row_csv(const Measurement& one, std::optional<double> predicted_s) {
  constexpr double milli = 1e3;
  std::string numbers;
  for (const std::int64_t number : one.shape) numbers += (numbers.empty() ? "" : " ") + std::to_string(number);
  const std::string predicted =
      predicted_s ? fmt::format("{:.6g},{:.6g}", *predicted_s * milli, *predicted_s / one.seconds - 1.0) : ",";
  return fmt::format("{},{},{},{},{:.6g},ms,{},,{},\n", csv_cell(one.card),
                     csv_cell(std::string(name_of(one.kind)) + ' ' + one.what), name_of(one.precision), numbers,
                     one.seconds * milli, predicted, predicted_s ? "" : "no price of this form");
}

std::string product_rows_csv(const std::vector<ProductOutcome>& outcomes) {
  constexpr double milli = 1e3;
  std::string text;
  for (const ProductOutcome& outcome : outcomes) {
    const GemmShape& shape = outcome.point.shape;
    const std::string held_out =
        outcome.held_out_s > 0.0 ? fmt::format("{:.6g}", outcome.held_out_s / outcome.point.seconds - 1.0) : "";
    text += fmt::format("{},gemm,{},{} {} {},{:.6g},ms,{:.6g},{:.6g},{},,\n", csv_cell(outcome.point.card),
                        name_of(shape.precision), shape.m, shape.n, shape.k, outcome.point.seconds * milli,
                        outcome.predicted_s * milli, outcome.error(), held_out);
  }
  return text;
}

}  // namespace takt
