#include "report/nccl_tests.hpp"

#include "base/contract.hpp"
#include "base/csv.hpp"
#include "base/quantile.hpp"
#include "config/json.hpp"
#include "report/format.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <sstream>
#include <utility>

namespace takt {
namespace {

constexpr std::array<std::pair<std::string_view, CollectiveKind>, 4> names{
    {{"all_gather", CollectiveKind::all_gather},
     {"all_reduce", CollectiveKind::all_reduce},
     {"reduce_scatter", CollectiveKind::reduce_scatter},
     {"broadcast", CollectiveKind::broadcast}}};

constexpr std::int64_t float_bytes = 4;  // nccl-tests counts elements of its default type

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
}

const char* redop(const CollectiveCall& call) {
  if (!reduces(call.kind)) return "none";
  return call.reduction == Reduction::sum ? "sum" : "avg";
}

/// Elements as nccl-tests prints them: of a rank where the message is the sum of all ranks' parts.
std::int64_t count_of(const CollectiveCall& call, std::int64_t ranks) {
  const bool by_rank = call.kind == CollectiveKind::all_gather || call.kind == CollectiveKind::reduce_scatter;
  return call.bytes.count() / float_bytes / (by_rank ? ranks : 1);
}

double algorithm_bandwidth(const CollectiveRow& row) {
  return static_cast<double>(row.call.bytes.count()) / row.account.time_us / 1e3;  // GB/s of bytes/us
}

double error_of(const CollectiveRow& row) {
  return row.account.time_us / *row.measured_us - 1.0;
}

bool has_measured(const CollectiveTable& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [](const auto& row) { return row.measured_us.has_value(); });
}

/// A number if the whole word is one.
std::optional<double> number_in(const std::string& word) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool whole = error == std::errc{} && end == word.data() + word.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// size count type redop [root] time algbw busbw #wrong [time algbw busbw #wrong]
std::optional<NcclTestsLine> line_of(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> cells;
  for (std::string word; words >> word;) cells.push_back(word);
  constexpr std::size_t leading = 4, group = 4;
  if (cells.size() < leading + group - 1) return std::nullopt;
  const std::optional<double> bytes = number_in(cells[0]), count = number_in(cells[1]);
  if (!bytes || !count || *bytes < 1.0 || number_in(cells[2])) return std::nullopt;
  const std::size_t rest = cells.size() - leading;
  const std::size_t time_at = leading + (rest % group == 1 ? 1 : 0);
  const std::optional<double> time = number_in(cells[time_at]);
  if (!time || *time <= 0.0) return std::nullopt;
  return NcclTestsLine{static_cast<std::int64_t>(*bytes), *time};
}

std::vector<Column> columns_of(bool measured, Explanations explanations) {
  std::vector<Column> columns{{"size (B)", Align::right},     {"count", Align::right},
                              {"type", Align::left},          {"redop", Align::left},
                              {"root", Align::right},         {"time (us)", Align::right},
                              {"algbw (GB/s)", Align::right}, {"busbw (GB/s)", Align::right}};
  if (measured) {
    columns.push_back({"measured (us)", Align::right});
    columns.push_back({"error", Align::right});
  }
  if (explanations == Explanations::added) {
    for (const char* title : {"algorithm", "protocol"}) columns.push_back({title, Align::left});
    columns.push_back({"CTAs", Align::right});
    columns.push_back({"NCCL plans (us)", Align::right});
    columns.push_back({"limited by", Align::left});
  }
  return columns;
}

std::string error_text(double error) {
  return fmt::format("{:+.1f} %", 100.0 * error);
}

std::vector<std::string> cells_of(const CollectiveRow& row, const CollectiveTable& table, Explanations explanations) {
  const double bandwidth = algorithm_bandwidth(row);
  std::vector<std::string> cells{std::to_string(row.call.bytes.count()),
                                 std::to_string(count_of(row.call, table.ranks)),
                                 "float",
                                 redop(row.call),
                                 row.call.kind == CollectiveKind::broadcast ? "0" : "-1",
                                 fmt::format("{:.2f}", row.account.time_us),
                                 fmt::format("{:.2f}", bandwidth),
                                 fmt::format("{:.2f}", bandwidth * bus_factor(row.call.kind, table.ranks))};
  if (has_measured(table)) {
    cells.push_back(row.measured_us ? fmt::format("{:.2f}", *row.measured_us) : "");
    cells.push_back(row.measured_us ? error_text(error_of(row)) : "");
  }
  if (explanations == Explanations::added) {
    cells.push_back(row.account.algorithm);
    cells.push_back(row.account.protocol);
    cells.push_back(std::to_string(row.account.ctas));
    cells.push_back(row.account.planned_us ? fmt::format("{:.1f}", *row.account.planned_us) : "");
    cells.push_back(row.account.limit);
  }
  return cells;
}

/// How far the times may be off, if anything tells.
std::string interval_line(const CollectiveTable& table) {
  if (table.rows.empty() || !table.rows.back().interval) return "";
  const CollectiveRow& largest = table.rows.back();
  return fmt::format("nine in ten collectives over {} took {:.2f} to {:.2f} of their prediction, their machine left out\n",
                     largest.account.way, largest.interval->low, largest.interval->high);
}

}  // namespace

std::string_view name_of(CollectiveKind kind) {
  for (const auto& [name, named] : names) {
    if (named == kind) return name;
  }
  unreachable("a kind of collective");
}

std::optional<CollectiveKind> collective_named(std::string_view name) {
  std::string word(name);
  std::replace(word.begin(), word.end(), '-', '_');
  if (word.ends_with("_perf")) word.resize(word.size() - std::string_view("_perf").size());
  for (const auto& [known, kind] : names) {
    if (known == word) return kind;
  }
  return std::nullopt;
}

double bus_factor(CollectiveKind kind, std::int64_t ranks) {
  const double n = static_cast<double>(ranks);
  if (kind == CollectiveKind::broadcast) return 1.0;
  return (kind == CollectiveKind::all_reduce ? 2.0 : 1.0) * (n - 1.0) / n;
}

Result<NcclTestsLog> read_nccl_tests_log(const SourceText& source) {
  NcclTestsLog log;
  std::istringstream lines(source.text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("Rank ") != std::string::npos && line.find("device") != std::string::npos) ++log.ranks;
    if (const auto read = line_of(line)) log.lines.push_back(*read);
  }
  if (!log.lines.empty()) return log;
  SourcePlace place;
  place.file = source.file;
  return Diagnostic{Severity::error, place, "no results of nccl-tests in this file",
                    "a line of results reads: size count type redop root time algbw busbw #wrong"};
}

std::string collective_text(const CollectiveTable& table, Explanations explanations) {
  Table text(columns_of(has_measured(table), explanations));
  std::vector<double> errors;
  for (const CollectiveRow& row : table.rows) {
    text.row(cells_of(row, table, explanations));
    if (row.measured_us) errors.push_back(std::abs(error_of(row)));
  }
  std::string out;
  if (!table.rows.empty()) {
    out = fmt::format("{} over {} cards of {}\n", name_of(table.rows.front().call.kind), table.ranks, table.topology);
    if (explanations == Explanations::added && !table.rows.front().account.plan.empty()) {
      out += "NCCL finds: " + table.rows.front().account.plan + "\n";
    }
  }
  out += text.text() + interval_line(table);
  if (!errors.empty()) {
    out += fmt::format("median error {}, largest {}\n", format_share(median(errors)),
                       format_share(*std::max_element(errors.begin(), errors.end())));
  }
  return out;
}

std::string collective_csv(const CollectiveTable& table) {
  std::string text =
      "size,count,type,redop,root,time_us,algbw_GBps,busbw_GBps,algorithm,protocol,ctas,planned_us,"
      "limited_by,measured_us,way,time_low_us,time_high_us\n";
  const auto number = [](double value) { return write_json(value, JsonLayout::compact); };
  for (const CollectiveRow& row : table.rows) {
    const double bandwidth = algorithm_bandwidth(row);
    text += fmt::format(
        "{},{},float,{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", row.call.bytes.count(), count_of(row.call, table.ranks),
        redop(row.call), row.call.kind == CollectiveKind::broadcast ? 0 : -1, number(row.account.time_us),
        number(bandwidth), number(bandwidth * bus_factor(row.call.kind, table.ranks)), row.account.algorithm,
        row.account.protocol, row.account.ctas, row.account.planned_us ? number(*row.account.planned_us) : "",
        csv_cell(row.account.limit), row.measured_us ? number(*row.measured_us) : "", csv_cell(row.account.way),
        row.interval ? number(row.interval->low * row.account.time_us) : "",
        row.interval ? number(row.interval->high * row.account.time_us) : "");
  }
  return text;
}

std::string collective_json(const CollectiveTable& table) {
  Json::Array rows;
  for (const CollectiveRow& row : table.rows) {
    const double bandwidth = algorithm_bandwidth(row);
    Json::Object entry{{"size", row.call.bytes.count()},
                       {"count", count_of(row.call, table.ranks)},
                       {"type", "float"},
                       {"redop", redop(row.call)},
                       {"time_s", row.account.time_us * 1e-6},
                       {"algbw_Bps", bandwidth * 1e9},
                       {"busbw_Bps", bandwidth * 1e9 * bus_factor(row.call.kind, table.ranks)},
                       {"algorithm", row.account.algorithm},
                       {"protocol", row.account.protocol},
                       {"ctas", row.account.ctas},
                       {"limited_by", row.account.limit},
                       {"way", row.account.way}};
    if (row.interval) {
      Json::Array bounds;
      bounds.emplace_back(row.interval->low * row.account.time_us * 1e-6);
      bounds.emplace_back(row.interval->high * row.account.time_us * 1e-6);
      entry.push_back({"time_interval_s", std::move(bounds)});
    }
    if (row.account.planned_us) entry.push_back({"nccl_planned_time_s", *row.account.planned_us * 1e-6});
    if (row.measured_us) {
      entry.push_back({"measured_time_s", *row.measured_us * 1e-6});
      entry.push_back({"error", error_of(row)});
    }
    rows.push_back(std::move(entry));
  }
  const std::string op = table.rows.empty() ? "" : std::string(name_of(table.rows.front().call.kind));
  const std::string plan = table.rows.empty() ? "" : table.rows.front().account.plan;
  const Json::Object whole{{"schema", "takt.collective/1"}, {"collective", op},  {"topology", table.topology},
                           {"ranks", table.ranks},          {"nccl_plan", plan}, {"rows", std::move(rows)}};
  return write_json(whole, JsonLayout::pretty);
}

}  // namespace takt
