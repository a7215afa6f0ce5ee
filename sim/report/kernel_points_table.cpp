#include "report/kernel_points_table.hpp"

#include "base/csv.hpp"
#include "base/quantile.hpp"
#include "report/format.hpp"
#include "report/table.hpp"
#include "report/wording.hpp"

#include <cmath>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace takt {
namespace {

/// What held-out rows of a kind must keep to. Nine in ten within their interval is the aim: from ten rows on the share
/// is held between 85 and 95 %, where nobody measured the card at 85 % and more.
struct KindBounds {
  double median = 0.0;  ///< of |error|, products of 2^31 multiplications and more
  double least_within = 0.85;
  double most_within = 0.95;
};

constexpr std::size_t enough = 10;

KindBounds bounds_of(PriceKind kind) {
  switch (kind) {
    case PriceKind::product_by_table:
      // Other publishers' products: the interval is that of the table's own publisher.
      return {.median = 0.10, .least_within = 0.60};
    case PriceKind::product_by_number:
      return {.median = 0.15};
    case PriceKind::product_without:
      return {.median = 0.25, .most_within = 1.0};
    case PriceKind::attention_measured:
      return {.median = 0.15};
    case PriceKind::attention_taken_over:
      return {.median = 0.45, .most_within = 1.0};
    case PriceKind::memory_measured:
    case PriceKind::power:
      return {.median = 0.06};
    case PriceKind::memory_taken_over:
      return {.median = 0.08, .most_within = 1.0};
  }
  unreachable("a kind of price");
}

struct Summary {
  std::vector<double> held_out;  ///< |error|
  std::vector<double> large;     ///< of those that are no small products
  double signed_sum = 0.0;
  std::size_t in_sample = 0, within = 0;
  bool has_interval = false;

  void add(const PointScore& score) {
    if (!score.held_out()) {
      ++in_sample;
      return;
    }
    held_out.push_back(std::abs(score.error()));
    if (!score.small) large.push_back(held_out.back());
    signed_sum += score.error();
    has_interval = has_interval || score.interval > 0.0;
    if (score.is_within()) ++within;
  }
  double median() const { return held_out.empty() ? 0.0 : quantile(held_out, 0.5); }
  double large_median() const { return large.empty() ? 0.0 : quantile(large, 0.5); }
  double worst() const { return held_out.empty() ? 0.0 : quantile(held_out, 1.0); }
  double share_within() const {
    return held_out.empty() ? 0.0 : static_cast<double>(within) / static_cast<double>(held_out.size());
  }
};

using Summaries = std::map<PriceKind, Summary>;

Summaries by_kind(const std::vector<PointScore>& scores) {
  Summaries kinds;
  for (const PointScore& score : scores) kinds[score.kind].add(score);
  return kinds;
}

std::vector<std::string> cells(std::vector<std::string> names, const Summary& summary) {
  const bool any = !summary.held_out.empty();
  names.push_back(format_count(static_cast<std::int64_t>(summary.held_out.size())));
  names.push_back(format_count(static_cast<std::int64_t>(summary.in_sample)));
  names.push_back(any ? format_share(summary.median()) : "-");
  names.push_back(any ? format_share(summary.signed_sum / static_cast<double>(summary.held_out.size())) : "-");
  names.push_back(any ? format_share(summary.worst()) : "-");
  names.push_back(any && summary.has_interval ? format_share(summary.share_within()) : "-");
  return names;
}

std::vector<Column> columns(std::vector<Column> names) {
  for (const char* name : {"held out", "in-sample", "median", "mean", "worst", "in interval"})
    names.push_back({name, Align::right});
  return names;
}

std::string rules_text(const std::vector<KernelPoint>& points) {
  std::map<std::string, std::int64_t> counts;
  for (const KernelPoint& point : points) ++counts[point.left_out];
  const auto rows = static_cast<std::int64_t>(points.size());
  std::string text = fmt::format("{} rows in = {} scored + {} left out by rule:\n", format_count(rows),
                                 format_count(counts[""]), format_count(rows - counts[""]));
  for (const PointRule& rule : point_rules()) {
    if (counts.count(rule.name) > 0) text += fmt::format("  {:>3}  {}\n", counts[rule.name], rule.reason);
  }
  return text;
}

bool holds(PriceKind kind, const Summary& summary) {
  const KindBounds bounds = bounds_of(kind);
  if (summary.large_median() > bounds.median) return false;
  if (!summary.has_interval || summary.held_out.empty()) return true;
  const double share = summary.share_within();
  return share >= bounds.least_within && (summary.held_out.size() < enough || share <= bounds.most_within);
}

std::string bounds_text(PriceKind kind) {
  const KindBounds bounds = bounds_of(kind);
  return fmt::format("{} %, {} to {} %", format_number(bounds.median * 100), format_number(bounds.least_within * 100),
                     format_number(bounds.most_within * 100));
}

}  // namespace

std::string kernel_points_table(const std::vector<KernelPoint>& points, const std::vector<PointScore>& scores) {
  std::map<std::tuple<std::string, PriceKind, bool>, Summary> by_card;
  for (const PointScore& score : scores) by_card[{score.point.card, score.kind, score.small}].add(score);
  Table cards(columns({{"card"}, {"price"}}));
  for (const auto& [of, summary] : by_card) {
    const auto& [card, kind, small] = of;
    cards.row(cells({card, std::string(name_of(kind)) + (small ? ", small" : "")}, summary));
  }

  std::vector<Column> with_bounds = columns({{"price"}});
  with_bounds.push_back({"bounds"});
  with_bounds.push_back({""});
  Table kinds(with_bounds);
  for (const auto& [kind, summary] : by_kind(scores)) {
    std::vector<std::string> row = cells({name_of(kind)}, summary);
    row.push_back(bounds_text(kind));
    row.push_back(holds(kind, summary) ? "held" : "LEFT");
    kinds.row(std::move(row));
  }
  return "Published kernels, one by one (validation/kernels/published.csv)\n\n" + rules_text(points) + '\n' +
         cards.text() + '\n' + kinds.text() +
         wrap(
             "errors are predicted time over measured, less one; median and worst of their size, mean with its sign. "
             "in-sample: a constant of the card was read from the row, which then counts in no error. small: products "
             "below 2^31 multiplications. taken over: also measured chips, priced as if nobody had measured them. "
             "bounds: median of all but small products; share of held-out rows in their interval (its upper end from "
             "ten rows on)",
             screen_width);
}

std::string point_rows_csv(const std::vector<KernelPoint>& points, const std::vector<PointScore>& scores) {
  std::string rows;
  auto scored = scores.begin();
  for (const KernelPoint& point : points) {
    std::string numbers, predicted, error, held_out;
    for (const std::int64_t number : point.numbers) numbers += (numbers.empty() ? "" : " ") + std::to_string(number);
    if (point.left_out.empty()) {
      predicted = fmt::format("{:.6g}", scored->predicted);
      error = fmt::format("{:.6g}", scored->error());
      if (scored->held_out()) held_out = error;
      while (++scored != scores.end() && scored->as_unmeasured) {
      }
    }
    const char* unit = point.kernel == "memory" || point.kernel == "copy" ? "GB/s" : "TFLOP/s";
    rows += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", point.card, point.kernel, point.precision, numbers,
                        point.rate, unit, predicted, error, held_out, point.left_out, csv_cell(point.source));
  }
  return rows;
}

std::vector<std::string> left_point_bounds(const std::vector<PointScore>& scores) {
  std::vector<std::string> left;
  for (const auto& [kind, summary] : by_kind(scores))
    if (!holds(kind, summary)) left.push_back(std::string("published kernels priced as \"") + name_of(kind) + '"');
  return left;
}

}  // namespace takt
