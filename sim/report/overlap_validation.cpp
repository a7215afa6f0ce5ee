#include "report/overlap_validation.hpp"

#include "base/csv.hpp"
#include "base/quantile.hpp"
#include "config/csv.hpp"
#include "report/format.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace takt {
namespace {

constexpr std::string_view interference_header =
    "card,kernel,shape,beside,ctas,traffic_GBps,measured_percent,not_modelled,source";
constexpr double giga = 1e9;
constexpr double percent = 100.0;

/// "8192x7168x4096".
std::optional<std::array<std::int64_t, 3>> shape_of(std::string_view text) {
  std::array<std::int64_t, 3> shape{};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::string_view part = text.substr(0, text.find('x'));
    const std::optional<std::int64_t> number = count_in(part, 1);
    if (!number) return std::nullopt;
    shape[i] = *number;
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  if (!text.empty()) return std::nullopt;
  return shape;
}

Result<InterferenceCase> interference_of(const CsvTable& table, const CsvRow& source) {
  const std::vector<std::string>& cells = source.cells;
  InterferenceCase row;
  row.card = cells[0];
  if (cells[1] == "gemm") {
    row.gemm = shape_of(cells[2]);
    if (!row.gemm) return table.error_in(source, 2, "shape is that of a product", "MxNxK, e.g. 8192x7168x4096");
  } else if (cells[1] != "triad") {
    return table.error_in(source, 1, fmt::format("no kernel is called \"{}\" here", cells[1]), "gemm or triad");
  }
  const auto ctas = count_in(cells[4]);
  if (!ctas) return table.error_in(source, 4, "ctas is a whole number");
  const auto traffic = number_in(cells[5]);
  if (!traffic || !(*traffic >= 0.0)) return table.error_in(source, 5, "traffic_GBps is a number, at least 0");
  const auto measured = number_in(cells[6]);
  if (!measured || !(*measured > 0.0)) return table.error_in(source, 6, "measured_percent is a positive number");
  row.beside = cells[3];
  row.interference = {.ctas = *ctas, .traffic = Bandwidth(*traffic * giga)};
  row.measured = *measured / percent;
  row.not_modelled = cells[7];
  row.source = cells[8];
  row.place = table.error_at(source, "").place;
  return row;
}

Result<RunCase> run_of(const CsvTable& table, const CsvRow& source) {
  const std::vector<std::string>& cells = source.cells;
  RunCase row{cells[0], cells[1], cells[2], 0.0, cells[3], cells[4], table.error_at(source, "").place};
  if (!row.not_modelled.empty()) return row;
  const std::string_view text = cells[2];
  const auto measured = text.ends_with(" %") ? number_in(text.substr(0, text.size() - 2)) : std::nullopt;
  if (!measured) return table.error_in(source, 2, "measured is a share of a modelled step", "e.g. 92.5 %");
  row.measured = *measured / percent;
  return row;
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

/// What is not modelled, by reason in the order in which the reasons come.
class LeftOut {
 public:
  void add(const std::string& why, std::string what) {
    const auto known = std::find_if(reasons_.begin(), reasons_.end(), [&](const auto& r) { return r.first == why; });
    if (known != reasons_.end()) known->second.push_back(std::move(what));
    else reasons_.push_back({why, {std::move(what)}});
  }

  std::string text() const {
    std::string lines;
    for (const auto& [why, rows] : reasons_) {
      lines += fmt::format("{} ({})\n", why, rows.size() == 1 ? "1 row" : fmt::format("{} rows", rows.size()));
      for (const std::string& row : rows) lines += wrap(row, screen_width, 4);
    }
    return lines.empty() ? "" : "\nNot modelled, and why\n" + lines;
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons_;
};

std::string left_out(const std::vector<InterferenceOutcome>& kernels, const std::vector<RunOutcome>& runs) {
  LeftOut rows;
  for (const InterferenceOutcome& outcome : kernels) {
    const InterferenceCase& row = outcome.measurement;
    if (row.not_modelled.empty()) continue;
    rows.add(row.not_modelled, fmt::format("{}, {}: {}", kernel_name(row), row.beside, format_share(row.measured)));
  }
  for (const RunOutcome& outcome : runs) {
    const RunCase& row = outcome.measurement;
    if (outcome.predicted) continue;
    rows.add(row.not_modelled.empty() ? outcome.not_predicted : row.not_modelled,
             fmt::format("{}, {}: {}", row.scenario, row.metric, row.measured_text));
  }
  return rows.text();
}

}  // namespace

Result<std::vector<InterferenceCase>> read_interference_cases(const SourceText& source) {
  return read_rows<InterferenceCase>(source, interference_header, interference_of);
}

Result<std::vector<RunCase>> read_run_cases(const SourceText& source) {
  return read_rows<RunCase>(source, run_columns, run_of);
}

std::string overlap_rows_csv(const std::vector<InterferenceOutcome>& kernels, const std::vector<RunOutcome>& runs) {
  std::string text = "kind,name,what,measured_percent,predicted_percent,error,excluded,source\n";
  const auto predicted = [](double value, double measured) {
    return fmt::format("{:.6g},{:.6g}", percent * value, value / measured - 1.0);
  };
  for (const InterferenceOutcome& outcome : kernels) {
    const InterferenceCase& row = outcome.measurement;
    text += fmt::format("kernel,{},{},{:.6g},{},{},{}\n", csv_cell(row.card),
                        csv_cell(kernel_name(row) + ": " + row.beside), percent * row.measured,
                        row.not_modelled.empty() ? predicted(outcome.predicted, row.measured) : ",",
                        csv_cell(row.not_modelled), csv_cell(row.source));
  }
  for (const RunOutcome& outcome : runs) {
    const RunCase& row = outcome.measurement;
    text += fmt::format("step,{},{},{},{},{},{}\n", csv_cell(row.scenario), csv_cell(row.metric),
                        row.not_modelled.empty() ? fmt::format("{:.6g}", percent * row.measured)
                                                 : csv_cell(row.measured_text),
                        outcome.predicted ? predicted(*outcome.predicted, row.measured) : ",",
                        csv_cell(row.not_modelled.empty() ? outcome.not_predicted : row.not_modelled),
                        csv_cell(row.source));
  }
  return text;
}

double median_interference_error(const std::vector<InterferenceOutcome>& outcomes) {
  std::vector<double> errors;
  for (const InterferenceOutcome& outcome : outcomes) {
    if (outcome.measurement.not_modelled.empty()) errors.push_back(std::abs(outcome.error()));
  }
  return errors.empty() ? 0.0 : median(std::move(errors));
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
