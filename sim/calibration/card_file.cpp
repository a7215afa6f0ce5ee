#include "calibration/card_file.hpp"

#include "base/quantile.hpp"
#include "base/text.hpp"
#include "config/toml_text.hpp"
#include "workload/kernel_interval.hpp"
#include "workload/precision.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <string_view>

namespace takt {
namespace {

constexpr std::uint64_t parts = 4;

std::string number(double value) {
  return fmt::format("{:.4g}", value);
}

/// The text without the section that starts at `title`, up to the next section or the end.
std::string without_section(const std::string& text, const std::string& title) {
  const std::size_t begin = text.find(title);
  if (begin == std::string::npos || (begin > 0 && text[begin - 1] != '\n')) return text;
  const std::size_t next = text.find("\n[", begin);
  return text.substr(0, begin) + (next == std::string::npos ? "" : text.substr(next + 1));
}

std::string scaled_section_of(const FittedGemm& fit) {
  return fmt::format("\n[gemm.{}]\nlike = \"{}\"\nefficiency = {}\ninterval = {}\nsource = \"{}\"\n",
                     name_of(fit.precision), fit.calibration.like, number(fit.calibration.constants.efficiency),
                     number(fit.calibration.interval), fit.calibration.source);
}

std::string section_of(const CardSpec& card, const FittedGemm& fit) {
  if (!fit.calibration.like.empty()) return scaled_section_of(fit);
  const GemmConstants& c = fit.calibration.constants;
  std::string text =
      fmt::format("\n[gemm.{}]{:17}# {} products; shapes held out: median {:.1f} %, 90th percentile {:.1f} %\n",
                  name_of(fit.precision), "", fit.points, fit.median * 100.0, fit.p90 * 100.0);
  text += fmt::format("efficiency = {}\npartial_wave = {}\nsmall_tile = {}\ndepth_start = {}\nlaunch_us = {}\n",
                      number(c.efficiency), number(c.partial_wave), number(c.small_tile), number(c.depth_start),
                      number(c.launch_us));
  text += fmt::format("memory = {}\npower_drop = {}\ncache_drop = {}\n", number(c.memory), number(c.power_drop),
                      number(c.cache_drop));
  if (c.quantise_ps > 0.0) text += fmt::format("quantise_ps = {}\n", number(c.quantise_ps));
  text += fmt::format("interval = {}\nresiduals = \"{}\"\nsource = \"{}\"\n", number(fit.calibration.interval),
                      residual_file_of(card, fit.precision), fit.calibration.source);
  return text;
}

/// Where the lines of a section are: from the one after its title up to the next section or the end.
struct Section {
  std::size_t begin = 0, end = 0;
};

std::optional<Section> section_in(const std::string& text, const std::string& title) {
  if (title.empty()) {  // keys above all sections
    const std::size_t next = text.starts_with('[') ? 0 : text.find("\n[");
    return Section{0, next == std::string::npos ? text.size() : next == 0 ? 0 : next + 1};
  }
  const std::size_t at = text.starts_with(title) ? 0 : text.find('\n' + title);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t line = text.find('\n', at + 1);
  const std::size_t begin = line == std::string::npos ? text.size() : line + 1;
  const std::size_t next = text.find("\n[", begin == 0 ? 0 : begin - 1);
  return Section{begin, next == std::string::npos ? text.size() : next + 1};
}

/// `text` with `key = value` in a section (empty: above all): in place of the key's line, or behind the section's last.
std::string with_key(std::string text, const std::string& title, const std::string& key, const std::string& value) {
  std::optional<Section> section = section_in(text, title);
  if (!section) {
    text += "\n" + title + "\n";
    section = Section{text.size(), text.size()};
  }
  const std::string line = key + " = " + value + '\n';
  std::size_t last = section->begin;  // behind the last line that is not empty
  for (std::size_t begin = section->begin; begin < section->end;) {
    const std::size_t end = std::min(text.find('\n', begin), section->end - 1) + 1;
    const std::string_view now = std::string_view(text).substr(begin, end - begin);
    if (trim(now.substr(0, now.find('='))) == key) return text.replace(begin, end - begin, line);
    if (!trim(now).empty()) last = end;
    begin = end;
  }
  return text.insert(last, line);
}

/// What a source says besides an earlier calibration.
std::string before_calibration(const std::string& source) {
  constexpr std::string_view mark = "; before: ";
  const std::size_t at = source.find(mark);
  return at == std::string::npos ? source : source.substr(at + mark.size());
}

}  // namespace

std::string with_efficiency(std::string card_text, const FittedEfficiency& fitted, const std::string& source) {
  constexpr double percent = 100.0;
  if (fitted.shares.empty()) return card_text;
  std::string rows;
  for (const FittedShare& share : fitted.shares) {
    card_text = with_key(std::move(card_text), "[efficiency]", share.key, number(share.value));
    rows += fmt::format("{}{} {} rows, median error {:.1f} %, 90th percentile {:.1f} %", rows.empty() ? "" : ", ",
                        share.key, share.rows, percent * share.median, percent * share.p90);
  }
  for (const FittedShare& share : fitted.shares) {
    if (share.key == "memory" || share.key == "attention")
      card_text = with_key(std::move(card_text), "[efficiency]", share.key + "_measured", "true");
  }
  const std::string& old = fitted.card.efficiency.source;
  const std::string text =
      fmt::format("{}: {}{}", source, rows, old.empty() ? "" : "; before: " + before_calibration(old));
  return with_key(std::move(card_text), "[efficiency]", "source", toml_string(text));
}

std::string with_sustained(std::string card_text, double share) {
  return with_key(std::move(card_text), "", "sustained", number(share));
}

bool is_as_fitted(const CardSpec& read, const FittedEfficiency& fitted) {
  constexpr double written = 1e-3;  // number() keeps four digits
  const auto near = [&](double KernelEfficiency::*member) {
    const double wanted = fitted.card.efficiency.*member;
    return std::abs(read.efficiency.*member - wanted) <= written * wanted;
  };
  const auto says = [&](const std::string& key, bool flag) {
    const auto is_key = [&key](const FittedShare& share) { return share.key == key; };
    return flag || std::none_of(fitted.shares.begin(), fitted.shares.end(), is_key);
  };
  if (!says("memory", read.efficiency.memory_measured) || !says("attention", read.efficiency.attention_measured))
    return false;
  return near(&KernelEfficiency::gemm) && near(&KernelEfficiency::attention) &&
         near(&KernelEfficiency::attention_backward) && near(&KernelEfficiency::memory) &&
         near(&KernelEfficiency::dequantise);
}

FittedGemm fitted_gemm(const CardSpec& card, std::span<const GemmPoint> points, const std::string& source) {
  constexpr double hundredths = 100.0;
  FittedGemm fit;
  fit.precision = points.front().shape.precision;
  fit.points = points.size();
  fit.calibration = fit_gemm(card, points);
  const std::vector<double> errors = held_out_errors(card, points, parts);
  fit.median = quantile(errors, 0.5);
  fit.p90 = quantile(errors, 0.9);
  fit.calibration.interval = std::ceil(fit.p90 * hundredths) / hundredths;
  fit.calibration.source = source;
  return fit;
}

bool has_shapes_to_hold_out(std::span<const GemmPoint> points) {
  for (std::uint64_t part = 0; part < parts; ++part) {
    const auto held_out = std::count_if(points.begin(), points.end(),
                                        [part](const GemmPoint& one) { return is_held_out(one.shape, part, parts); });
    if (points.size() - static_cast<std::size_t>(held_out) < fewest_to_fit) return false;
  }
  return true;
}

FittedGemm scaled_gemm(const CardSpec& card, const CardSpec& other, std::span<const GemmPoint> points,
                       const std::string& source) {
  const Precision precision = points.front().shape.precision;
  const GemmCalibration* own = gemm_calibration(other, precision);
  expects(own != nullptr && own->like.empty(), "a card with constants of its own");
  FittedGemm fit;
  fit.precision = precision;
  fit.points = points.size();
  fit.calibration = *own;
  fit.calibration.constants = with_fitted_efficiency(card, own->constants, points);
  fit.calibration.like = other.id;
  fit.calibration.interval = one_number_interval;
  fit.calibration.source = source;
  std::vector<double> errors;
  for (const GemmPoint& point : points)
    errors.push_back(std::abs(estimate_gemm(card, fit.calibration, point.shape).seconds / point.seconds - 1.0));
  fit.median = quantile(errors, 0.5);
  fit.p90 = quantile(errors, 0.9);
  return fit;
}

std::string residual_file_of(const CardSpec& card, Precision precision) {
  return fmt::format("gemm/{}-{}.csv", card.id, name_of(precision));
}

std::string with_gemm_sections(std::string card_text, const CardSpec& card, const std::vector<FittedGemm>& fits) {
  for (const FittedGemm& fit : fits)
    card_text = without_section(card_text, fmt::format("[gemm.{}]", name_of(fit.precision)));
  while (card_text.ends_with("\n\n")) card_text.pop_back();
  for (const FittedGemm& fit : fits) card_text += section_of(card, fit);
  return card_text;
}

}  // namespace takt
