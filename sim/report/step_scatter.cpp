#include "report/step_scatter.hpp"

#include "base/contract.hpp"
#include "report/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace takt {
namespace {

constexpr double side = 640.0, margin = 60.0, legend_width = 190.0, dot = 2.6;
constexpr std::array<const char*, 12> colours = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf",
                                                 "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#000080", "#006400"};

/// Seconds to pixels, by their logarithm.
struct Scale {
  double low = 0.0, high = 1.0;  ///< decades

  double along(double seconds) const { return (std::log10(seconds) - low) / (high - low) * (side - 2.0 * margin); }
  double x(double seconds) const { return margin + along(seconds); }
  double y(double seconds) const { return side - margin - along(seconds); }
};

double predicted(const StepOutcome& outcome) {
  return outcome.left_out_s > 0.0 ? outcome.left_out_s : outcome.predicted_s;
}

Scale scale_of(const std::vector<const StepOutcome*>& rows) {
  double least = rows.front()->row.measured_s, most = least;
  for (const StepOutcome* row : rows) {
    least = std::min({least, row->row.measured_s, predicted(*row)});
    most = std::max({most, row->row.measured_s, predicted(*row)});
  }
  return {std::floor(std::log10(least)), std::max(std::ceil(std::log10(most)), std::floor(std::log10(least)) + 1.0)};
}

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, text);
}

/// predicted = factor * measured, across the whole square.
std::string diagonal(const Scale& scale, double factor, const char* style) {
  const double least = std::pow(10.0, scale.low), most = std::pow(10.0, scale.high);
  const double from = std::max(least, least / factor), to = std::min(most, most / factor);
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", scale.x(from),
                     scale.y(from * factor), scale.x(to), scale.y(to * factor), style);
}

std::string axes(const Scale& scale) {
  std::string svg = fmt::format(
      "<rect x=\"{0:.1f}\" y=\"{0:.1f}\" width=\"{1:.1f}\" height=\"{1:.1f}\" fill=\"none\" stroke=\"#888\"/>\n",
      margin, side - 2.0 * margin);
  for (double decade = scale.low; decade <= scale.high; decade += 1.0) {
    const double seconds = std::pow(10.0, decade);
    const std::string label = format_number(seconds, 1) + " s";
    svg += text_at(scale.x(seconds), side - margin + 18.0, "middle", label);
    svg += text_at(margin - 6.0, scale.y(seconds) + 4.0, "end", label);
  }
  svg += text_at(side / 2.0, side - 14.0, "middle", "measured");
  svg += fmt::format("<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">predicted</text>\n",
                     side / 2.0);
  svg += diagonal(scale, 1.0, "stroke=\"#444\"");
  for (const double factor : {1.0 / 1.2, 1.2})
    svg += diagonal(scale, factor, "stroke=\"#aaa\" stroke-dasharray=\"4 3\"");
  return svg;
}

}  // namespace

std::string step_scatter_svg(const std::vector<StepOutcome>& outcomes) {
  std::vector<const StepOutcome*> rows;
  std::map<std::string, std::size_t> publishers;
  for (const StepOutcome& outcome : outcomes) {
    if (!outcome.not_predicted.empty()) continue;
    rows.push_back(&outcome);
    publishers.emplace(outcome.row.publisher, 0);
  }
  expects(!rows.empty(), "a picture of something");
  std::size_t number = 0;
  for (auto& [publisher, colour] : publishers) colour = number++;
  const Scale scale = scale_of(rows);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      side + legend_width, side);
  svg += axes(scale);
  for (const StepOutcome* row : rows) {
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\" fill-opacity=\"0.6\"/>\n",
                       scale.x(row->row.measured_s), scale.y(predicted(*row)), dot,
                       colours[publishers.at(row->row.publisher) % colours.size()]);
  }
  double y = margin + 12.0;
  for (const auto& [publisher, colour] : publishers) {
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", side - margin + 20.0, y - 4.0,
                       colours[colour % colours.size()]);
    svg += text_at(side - margin + 30.0, y, "start", publisher);
    y += 18.0;
  }
  return svg + "</svg>\n";
}

}  // namespace takt
