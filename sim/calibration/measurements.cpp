#include "calibration/measurements.hpp"

#include "base/text.hpp"
#include "config/csv.hpp"
#include "workload/precision.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

namespace takt {
namespace {

constexpr double tera = 1e12, giga = 1e9;

/// Whether a kind's rates count operations or bytes, if it may be stated as a rate.
enum class RateOf : std::uint8_t { nothing, flops, bytes };

/// A kind of measurement as rows state it.
struct Form {
  MeasuredKind kind;
  const char* name;
  const char* shape;  ///< in words
  std::size_t numbers;
  RateOf rate;
  bool has_precision;
};

constexpr std::array<Form, 11> forms = {{
    {MeasuredKind::gemm, "gemm", "MxNxK", 3, RateOf::flops, true},
    {MeasuredKind::memory, "memory", "the bytes read and written", 1, RateOf::bytes, false},
    {MeasuredKind::attention, "attention", "BATCHxSEQUENCExHEADSxKV_HEADSxWIDTH", 5, RateOf::flops, true},
    {MeasuredKind::elementwise, "elementwise", "the bytes read and written", 1, RateOf::bytes, false},
    {MeasuredKind::optimizer, "optimizer", "the number of elements", 1, RateOf::nothing, false},
    {MeasuredKind::dequantise, "dequantise", "the number of weights", 1, RateOf::nothing, false},
    {MeasuredKind::sustained, "sustained", "MxNxK", 3, RateOf::flops, true},
    {MeasuredKind::launch, "launch", "1", 1, RateOf::nothing, false},
    {MeasuredKind::copy, "copy", "the bytes of each transfer", 1, RateOf::bytes, false},
    {MeasuredKind::staged, "staged", "the bytes of each transfer", 1, RateOf::bytes, false},
    {MeasuredKind::collective, "collective", "CARDSxBYTES", 2, RateOf::nothing, false},
}};

const Form& form_of(MeasuredKind kind) {
  return *std::find_if(forms.begin(), forms.end(), [kind](const Form& form) { return form.kind == kind; });
}

std::optional<std::vector<std::int64_t>> shape_in(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (bool more = true; more;) {
    const std::size_t cross = text.find('x');
    const std::optional<std::int64_t> number = count_in(text.substr(0, cross), 1);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    more = cross != std::string_view::npos;
    if (more) text.remove_prefix(cross + 1);
  }
  return numbers;
}

/// What one run does, in operations or bytes: the numerator of its rate.
double done_by(const Measurement& one, RateOf rate) {
  const auto number = [&one](std::size_t i) { return static_cast<double>(one.shape[i]); };
  if (rate == RateOf::bytes) {
    const auto transfers = static_cast<double>(1 + std::count(one.what.begin(), one.what.end(), ' '));
    const bool moves = one.kind == MeasuredKind::copy || one.kind == MeasuredKind::staged;
    return moves ? transfers * one.bytes() : one.bytes();
  }
  if (one.kind == MeasuredKind::gemm || one.kind == MeasuredKind::sustained) return 2.0 * number(0) * number(1) * number(2);
  const double forward = 2.0 * number(0) * number(1) * number(1) * number(2) * number(4);
  return one.what.ends_with("backward") ? 2.5 * forward : forward;
}

/// Seconds of one run; nothing if the kind has no such unit.
std::optional<double> seconds_of(const Measurement& one, double value, const std::string& unit) {
  if (unit == "ms") return value * 1e-3;
  if (unit == "us") return value * 1e-6;
  if (unit == "s") return value;
  const RateOf rate = form_of(one.kind).rate;
  if (unit == "TFLOP/s" && rate == RateOf::flops) return done_by(one, rate) / (value * tera);
  if (unit == "GB/s" && rate == RateOf::bytes) return done_by(one, rate) / (value * giga);
  return std::nullopt;
}

std::string units_of(RateOf rate) {
  const std::string times = "ms, us or s";
  if (rate == RateOf::nothing) return times;
  return times + (rate == RateOf::flops ? ", or TFLOP/s" : ", or GB/s");
}

Diagnostic unknown_kind(const CsvTable& table, const CsvRow& row) {
  std::vector<std::string> names;
  for (const Form& form : forms) names.emplace_back(form.name);
  const std::optional<std::string> near = did_you_mean(row.cells[0], names);
  return table.error_in(row, 0, fmt::format("nothing of the kind \"{}\" is measured", row.cells[0]),
                        near ? fmt::format("did you mean \"{}\"?", *near) : "one of " + join(names, ", "));
}

Result<Measurement> measurement_of(const CsvTable& table, const CsvRow& row) {
  const std::vector<std::string>& cells = row.cells;
  const auto form = std::find_if(forms.begin(), forms.end(), [&](const Form& one) { return one.name == cells[0]; });
  if (form == forms.end()) return unknown_kind(table, row);
  Measurement one{form->kind, cells[1], cells[2], Precision::bf16, {}, 0.0, table.error_at(row, "").place};
  if (one.card.empty()) return table.error_in(row, 1, "the row names no card", "its id in topologies/cards");
  if (const std::optional<Precision> precision = precision_named(cells[3])) {
    one.precision = *precision;
  } else if (form->has_precision || !cells[3].empty()) {
    return table.error_in(row, 3, fmt::format("no precision is called \"{}\"", cells[3]),
                          "bf16, fp16, tf32, fp32, fp8, nvfp4 or mxfp8");
  }
  const std::optional<std::vector<std::int64_t>> shape = shape_in(cells[4]);
  if (!shape || shape->size() != form->numbers) {
    return table.error_in(row, 4, fmt::format("the shape of {} rows is {}", form->name, form->shape),
                          "whole numbers, at least 1");
  }
  one.shape = *shape;
  const std::optional<double> value = number_in(cells[5]);
  if (!value || !(*value > 0.0)) return table.error_in(row, 5, "the value is a positive number");
  const std::optional<double> seconds = seconds_of(one, *value, cells[6]);
  if (!seconds) {
    return table.error_in(row, 6, fmt::format("{} rows have no unit \"{}\"", form->name, cells[6]),
                          units_of(form->rate));
  }
  one.seconds = *seconds;
  return one;
}

Measurement as_measurement(const GemmPoint& point, const std::string& file) {
  return {MeasuredKind::gemm,
          point.card,
          "product",
          point.shape.precision,
          {point.shape.m, point.shape.n, point.shape.k},
          point.seconds,
          {file, point.line, 1, ""}};
}

}  // namespace

const char* name_of(MeasuredKind kind) {
  return form_of(kind).name;
}

Result<std::vector<Measurement>> read_measurements(const SourceText& source) {
  if (!has_columns(source, gemm_columns)) return read_rows<Measurement>(source, measurement_columns, measurement_of);
  const Result<std::vector<GemmPoint>> points = read_gemm_points(source);
  if (!points) return points.diagnostics();
  std::vector<Measurement> products;
  for (const GemmPoint& point : *points) products.push_back(as_measurement(point, source.file));
  return products;
}

std::vector<Measurement> of_kind(const std::vector<Measurement>& all, MeasuredKind kind, const std::string& card) {
  std::vector<Measurement> chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
               [&](const Measurement& one) { return one.kind == kind && one.card == card; });
  return chosen;
}

std::string kinds_in(const std::vector<Measurement>& measured) {
  std::vector<std::string> names;
  for (const Form& form : forms) {
    const auto is_such = [&form](const Measurement& one) { return one.kind == form.kind; };
    if (std::any_of(measured.begin(), measured.end(), is_such)) names.emplace_back(form.name);
  }
  if (names.empty()) return "no";
  const std::string last = names.back();
  names.pop_back();
  return names.empty() ? last : join(names, ", ") + " and " + last;
}

GemmPoint gemm_point(const Measurement& product) {
  const std::vector<std::int64_t>& n = product.shape;
  return {product.card, {n[0], n[1], n[2], product.precision}, product.seconds, product.place.line};
}

}  // namespace takt
