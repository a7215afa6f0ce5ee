#include "report/link_validation.hpp"

#include "base/csv.hpp"
#include "base/text.hpp"
#include "config/csv.hpp"
#include "report/format.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <string_view>

namespace takt {
namespace {

constexpr std::string_view case_header = "server,state,group,what,transfers,measured_GBps,not_modelled,source";
constexpr std::string_view exclusion_header = "machine,measurement,rows,rule,source";
constexpr double giga = 1e9;

std::optional<std::int64_t> end_of_transfer(std::string_view text) {
  if (text == "host") return Transfer::host;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

/// "0>1 1>0"; nothing if a word is no transfer.
std::optional<std::vector<Transfer>> transfers_of(std::string_view text) {
  std::vector<Transfer> transfers;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t arrow = word.find('>');
    if (arrow == std::string_view::npos) return std::nullopt;
    const auto from = end_of_transfer(word.substr(0, arrow));
    const auto to = end_of_transfer(word.substr(arrow + 1));
    if (!from || !to || *from == *to) return std::nullopt;
    transfers.push_back({*from, *to});
  }
  if (transfers.empty()) return std::nullopt;
  return transfers;
}

std::optional<PeerState> state_of(std::string_view text) {
  if (text == "on") return PeerState::on;
  if (text == "off") return PeerState::off;
  if (text == "acs") return PeerState::acs;
  return std::nullopt;
}

std::optional<LinkCase> case_of(const std::vector<std::string>& cells) {
  const std::optional<PeerState> state = state_of(cells[1]);
  const std::optional<std::vector<Transfer>> transfers = transfers_of(cells[4]);
  double measured = 0.0;
  const auto [end, error] = std::from_chars(cells[5].data(), cells[5].data() + cells[5].size(), measured);
  if (!state || !transfers || error != std::errc() || measured <= 0.0) return std::nullopt;
  return LinkCase{cells[0], *state, cells[2], cells[3], *transfers, Bandwidth(measured * giga), cells[6], cells[7]};
}

std::optional<LinkExclusion> exclusion_of(const std::vector<std::string>& cells) {
  std::int64_t rows = 0;
  const auto [end, error] = std::from_chars(cells[2].data(), cells[2].data() + cells[2].size(), rows);
  if (error != std::errc() || end != cells[2].data() + cells[2].size() || rows <= 0) return std::nullopt;
  return LinkExclusion{cells[0], cells[1], rows, cells[3]};
}

/// A kind of table in a CSV file.
template <class Row>
struct RowKind {
  std::string_view header;
  std::optional<Row> (*row_of)(const std::vector<std::string>& cells);
  std::string_view problem;  ///< where a row is none
};

template <class Row>
Result<std::vector<Row>> read_rows(const SourceText& source, const RowKind<Row>& kind) {
  const std::size_t columns = csv_cells(kind.header).size();
  std::vector<Row> rows;
  Diagnostics errors;
  std::uint32_t number = 0;
  std::string_view text = source.text;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const SourcePlace place{source.file, ++number, 1, std::string(line)};
    const auto error = [&](std::string message) { errors.push_back({Severity::error, place, std::move(message), ""}); };
    if (number == 1) {
      if (line != kind.header) error("the header must be " + std::string(kind.header));
      continue;
    }
    const std::vector<std::string> cells = csv_cells(line);
    std::optional<Row> row = cells.size() == columns ? kind.row_of(cells) : std::nullopt;
    if (row) {
      rows.push_back(*std::move(row));
    } else {
      error(cells.size() == columns ? std::string(kind.problem)
                                    : fmt::format("{} cells, not {}", cells.size(), columns));
    }
  }
  if (!errors.empty()) return errors;
  return rows;
}

bool modelled(const LinkOutcome& outcome) {
  return outcome.measurement.not_modelled.empty();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string signed_share(double share) {
  return fmt::format("{}{}", share < 0.0 ? "" : "+", format_share(share));
}

/// Matrices of many cells as one row a machine and group.
std::string summary(const std::vector<LinkOutcome>& outcomes) {
  std::map<std::pair<std::string, std::string>, std::vector<double>> errors;
  for (const LinkOutcome& outcome : outcomes) {
    if (modelled(outcome)) errors[{outcome.measurement.group, outcome.measurement.server}].push_back(outcome.error());
  }
  Table table({{"measurement"},
               {"machine"},
               {"rows", Align::right},
               {"median", Align::right},
               {"|median|", Align::right},
               {"worst", Align::right}});
  for (const auto& [key, values] : errors) {
    std::vector<double> sizes;
    double worst = 0.0;
    for (const double error : values) {
      sizes.push_back(std::abs(error));
      if (std::abs(error) > std::abs(worst)) worst = error;
    }
    table.row({key.first, key.second, std::to_string(values.size()), signed_share(median(values)),
               format_share(median(sizes)), signed_share(worst)});
  }
  return table.text();
}

std::string rows_of(const std::vector<LinkOutcome>& outcomes, std::string_view group) {
  Table table(
      {{"machine"}, {"flows"}, {"measured", Align::right}, {"predicted", Align::right}, {"error", Align::right}});
  for (const LinkOutcome& outcome : outcomes) {
    const LinkCase& row = outcome.measurement;
    if (row.group != group || !modelled(outcome)) continue;
    table.row({row.server, row.what, format_bandwidth(row.measured), format_bandwidth(outcome.predicted),
               signed_share(outcome.error())});
  }
  return table.empty() ? "" : "\n" + table.text();
}

std::string left_out(const std::vector<LinkOutcome>& outcomes) {
  Table table({{"machine"}, {"not modelled"}, {"measured", Align::right}, {"why"}});
  for (const LinkOutcome& outcome : outcomes) {
    const LinkCase& row = outcome.measurement;
    if (!modelled(outcome)) table.row({row.server, row.what, format_bandwidth(row.measured), row.not_modelled});
  }
  return table.empty() ? "" : "\n" + table.text();
}

/// One row a kind of measurement and rule, over all machines.
std::string excluded_by_rule(const std::vector<LinkExclusion>& exclusions) {
  struct Sum {
    std::int64_t rows = 0;
    std::vector<std::string> machines;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const LinkExclusion& row : exclusions) {
    Sum& sum = sums[{row.measurement, row.rule}];
    sum.rows += row.rows;
    sum.machines.push_back(row.machine);
  }
  std::string text;
  for (const auto& [key, sum] : sums) {
    text += fmt::format("\n{} excluded, {}: {}\n  {}\n", sum.rows, key.first, key.second, join(sum.machines, "; "));
  }
  return text;
}

}  // namespace

Result<std::vector<LinkCase>> read_link_cases(const SourceText& source) {
  return read_rows<LinkCase>(source, {case_header, case_of, "state, transfers or measured_GBps cannot be read"});
}

Result<std::vector<LinkExclusion>> read_link_exclusions(const SourceText& source) {
  return read_rows<LinkExclusion>(source, {exclusion_header, exclusion_of, "the number of rows cannot be read"});
}

double median_link_error(const std::vector<LinkOutcome>& outcomes) {
  std::vector<double> errors;
  for (const LinkOutcome& outcome : outcomes) {
    if (modelled(outcome)) errors.push_back(std::abs(outcome.error()));
  }
  return median(std::move(errors));
}

std::string link_validation_table(const std::vector<LinkOutcome>& outcomes,
                                  const std::vector<LinkExclusion>& exclusions) {
  const auto scored = static_cast<std::size_t>(std::count_if(outcomes.begin(), outcomes.end(), modelled));
  std::size_t excluded = 0;
  for (const LinkExclusion& exclusion : exclusions) excluded += static_cast<std::size_t>(exclusion.rows);
  return summary(outcomes) + rows_of(outcomes, "contention") + left_out(outcomes) + excluded_by_rule(exclusions) +
         fmt::format("\n{} published rows: {} compared, median error {}; {} not modelled; {} excluded by rule\n",
                     outcomes.size() + excluded, scored, format_share(median_link_error(outcomes)),
                     outcomes.size() - scored, excluded);
}

}  // namespace takt
