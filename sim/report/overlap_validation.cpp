#include "report/overlap_validation.hpp"

#include "base/csv.hpp"
#include "report/format.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <string_view>

namespace takt {
namespace {

constexpr std::string_view interference_header =
    "card,kernel,shape,beside,ctas,traffic_GBps,measured_percent,not_modelled,source";
constexpr std::string_view run_header = "scenario,metric,measured,not_modelled,source";
constexpr double giga = 1e9;
constexpr double percent = 100.0;

template <class T>
std::optional<T> number_of(std::string_view text) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "8192x7168x4096".
std::optional<std::array<std::int64_t, 3>> shape_of(std::string_view text) {
  std::array<std::int64_t, 3> shape{};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::string_view part = text.substr(0, text.find('x'));
    const std::optional<std::int64_t> number = number_of<std::int64_t>(part);
    if (!number || *number <= 0) return std::nullopt;
    shape[i] = *number;
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  if (!text.empty()) return std::nullopt;
  return shape;
}

std::optional<InterferenceCase> interference_of(const std::vector<std::string>& cells) {
  const auto ctas = number_of<std::int64_t>(cells[4]);
  const auto traffic = number_of<double>(cells[5]);
  const auto measured = number_of<double>(cells[6]);
  if (!ctas || !traffic || !measured || !(*measured > 0.0)) return std::nullopt;
  InterferenceCase row;
  row.card = cells[0];
  if (cells[1] == "gemm") {
    row.gemm = shape_of(cells[2]);
    if (!row.gemm) return std::nullopt;
  } else if (cells[1] != "triad") {
    return std::nullopt;
  }
  row.beside = cells[3];
  row.interference = {.ctas = *ctas, .traffic = Bandwidth(*traffic * giga)};
  row.measured = *measured / percent;
  row.not_modelled = cells[7];
  row.source = cells[8];
  return row;
}

std::optional<RunCase> run_of(const std::vector<std::string>& cells) {
  RunCase row{cells[0], cells[1], cells[2], 0.0, cells[3], cells[4]};
  if (!row.not_modelled.empty()) return row;
  const std::string_view text = cells[2];
  if (!text.ends_with(" %")) return std::nullopt;
  const auto measured = number_of<double>(text.substr(0, text.size() - 2));
  if (!measured) return std::nullopt;
  row.measured = *measured / percent;
  return row;
}

/// Rows of a CSV file with a fixed header, each made by `make` from as many cells as the header has.
template <class Row>
Result<std::vector<Row>> read_rows(const SourceText& source, std::string_view header,
                                   std::optional<Row> (*make)(const std::vector<std::string>&)) {
  const std::size_t columns = csv_cells(header).size();
  std::vector<Row> rows;
  Diagnostics errors;
  std::uint32_t number = 0;
  std::string_view text = source.text;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const SourcePlace place{source.file, ++number, 1, std::string(line)};
    const auto error = [&](std::string message) {
      errors.push_back({Severity::error, place, std::move(message), ""});
    };
    if (number == 1) {
      if (line != header) error("the header must be " + std::string(header));
      continue;
    }
    const std::vector<std::string> cells = csv_cells(line);
    if (cells.size() != columns) {
      error(fmt::format("{} cells, not {}", cells.size(), columns));
      continue;
    }
    if (std::optional<Row> row = make(cells))
      rows.push_back(*std::move(row));
    else
      error("a number or a shape cannot be read");
  }
  if (!errors.empty()) return errors;
  return rows;
}

std::string signed_share(double share) { return (share < 0.0 ? "-" : "+") + format_share(std::abs(share)); }

std::string kernel_name(const InterferenceCase& row) {
  if (!row.gemm) return "triad";
  return fmt::format("GEMM {}x{}x{}", (*row.gemm)[0], (*row.gemm)[1], (*row.gemm)[2]);
}

std::string kernels_table(const std::vector<InterferenceOutcome>& outcomes) {
  Table table({{"card"},
               {"kernel"},
               {"beside it"},
               {"measured", Align::right},
               {"predicted", Align::right},
               {"error", Align::right}});
  for (const InterferenceOutcome& outcome : outcomes) {
    const InterferenceCase& row = outcome.measurement;
    if (!row.not_modelled.empty()) continue;
    table.row({row.card, kernel_name(row), row.beside, format_share(row.measured), format_share(outcome.predicted),
               signed_share(outcome.error())});
  }
  return table.text();
}

std::string runs_table(const std::vector<RunOutcome>& outcomes) {
  Table table({{"step"},
               {""},
               {"measured", Align::right},
               {"predicted", Align::right},
               {"points", Align::right}});
  for (const RunOutcome& outcome : outcomes) {
    if (!outcome.predicted) continue;
    const RunCase& row = outcome.measurement;
    table.row({row.scenario, row.metric, format_share(row.measured), format_share(*outcome.predicted),
               fmt::format("{:+.1f}", percent * (*outcome.predicted - row.measured))});
  }
  return table.empty() ? "" : "\n" + table.text();
}

std::string left_out(const std::vector<InterferenceOutcome>& kernels, const std::vector<RunOutcome>& runs) {
  Table table({{"not modelled"}, {""}, {"measured", Align::right}, {"why"}});
  for (const InterferenceOutcome& outcome : kernels) {
    const InterferenceCase& row = outcome.measurement;
    if (!row.not_modelled.empty())
      table.row({kernel_name(row), row.beside, format_share(row.measured), row.not_modelled});
  }
  for (const RunOutcome& outcome : runs) {
    const RunCase& row = outcome.measurement;
    if (outcome.predicted) continue;
    table.row({row.scenario, row.metric, row.measured_text,
               row.not_modelled.empty() ? outcome.not_predicted : row.not_modelled});
  }
  return table.empty() ? "" : "\n" + table.text();
}

}  // namespace

Result<std::vector<InterferenceCase>> read_interference_cases(const SourceText& source) {
  return read_rows<InterferenceCase>(source, interference_header, interference_of);
}

Result<std::vector<RunCase>> read_run_cases(const SourceText& source) {
  return read_rows<RunCase>(source, run_header, run_of);
}

double median_interference_error(const std::vector<InterferenceOutcome>& outcomes) {
  std::vector<double> errors;
  for (const InterferenceOutcome& outcome : outcomes) {
    if (outcome.measurement.not_modelled.empty()) errors.push_back(std::abs(outcome.error()));
  }
  if (errors.empty()) return 0.0;
  std::sort(errors.begin(), errors.end());
  const std::size_t middle = errors.size() / 2;
  return errors.size() % 2 == 1 ? errors[middle] : (errors[middle - 1] + errors[middle]) / 2.0;
}

std::string overlap_validation_table(const std::vector<InterferenceOutcome>& kernels,
                                     const std::vector<RunOutcome>& runs) {
  const auto modelled = std::count_if(kernels.begin(), kernels.end(), [](const InterferenceOutcome& outcome) {
    return outcome.measurement.not_modelled.empty();
  });
  double worst = 0.0;
  for (const InterferenceOutcome& outcome : kernels) {
    if (outcome.measurement.not_modelled.empty() && std::abs(outcome.error()) > std::abs(worst)) worst = outcome.error();
  }
  return "Throughput that a kernel keeps\n" + kernels_table(kernels) + runs_table(runs) + left_out(kernels, runs) +
         fmt::format("\n{} rows of kernels, median error {}, worst {}\n", modelled,
                     format_share(median_interference_error(kernels)), signed_share(worst));
}

}  // namespace takt
