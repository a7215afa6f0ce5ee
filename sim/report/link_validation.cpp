#include "report/link_validation.hpp"

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

constexpr std::string_view header = "server,state,group,what,transfers,measured_GBps,not_modelled,source";
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

}  // namespace

Result<std::vector<LinkCase>> read_link_cases(const SourceText& source) {
  std::vector<LinkCase> cases;
  Diagnostics errors;
  std::uint32_t number = 0;
  std::string_view text = source.text;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const SourcePlace place{source.file, ++number, 1, std::string(line)};
    if (number == 1) {
      if (line != header) errors.push_back({Severity::error, place, "the header must be " + std::string(header), ""});
      continue;
    }
    const std::vector<std::string> cells = csv_cells(line);
    constexpr std::size_t columns = 8;
    if (cells.size() != columns) {
      errors.push_back({Severity::error, place, fmt::format("{} cells, not {}", cells.size(), columns), ""});
      continue;
    }
    if (std::optional<LinkCase> row = case_of(cells))
      cases.push_back(*std::move(row));
    else
      errors.push_back({Severity::error, place, "state, transfers or measured_GBps cannot be read", ""});
  }
  if (!errors.empty()) return errors;
  return cases;
}

double median_link_error(const std::vector<LinkOutcome>& outcomes) {
  std::vector<double> errors;
  for (const LinkOutcome& outcome : outcomes) {
    if (modelled(outcome)) errors.push_back(std::abs(outcome.error()));
  }
  return median(std::move(errors));
}

std::string link_validation_table(const std::vector<LinkOutcome>& outcomes) {
  const auto count = std::count_if(outcomes.begin(), outcomes.end(), modelled);
  return summary(outcomes) + rows_of(outcomes, "contention") + left_out(outcomes) +
         fmt::format("\n{} rows, median error {}; {} rows not modelled\n", count,
                     format_share(median_link_error(outcomes)), outcomes.size() - static_cast<std::size_t>(count));
}

}  // namespace takt
