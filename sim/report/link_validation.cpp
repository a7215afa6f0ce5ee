#include "report/link_validation.hpp"

#include "base/csv.hpp"
#include "base/quantile.hpp"
#include "base/text.hpp"
#include "config/csv.hpp"
#include "report/format.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <string_view>

namespace takt {
namespace {

constexpr std::string_view case_header = "server,state,group,what,transfers,measured_GBps,not_modelled,source";
constexpr std::string_view exclusion_header = "machine,measurement,rows,rule,source";
constexpr double giga = 1e9;

const char* word_of(PeerState state) {
  switch (state) {
    case PeerState::on:
      return "on";
    case PeerState::off:
      return "off";
    case PeerState::acs:
      return "acs";
  }
  unreachable("a state");
}

std::optional<PeerState> state_of(std::string_view text) {
  if (text == "on") return PeerState::on;
  if (text == "off") return PeerState::off;
  if (text == "acs") return PeerState::acs;
  return std::nullopt;
}

Result<LinkCase> case_of(const CsvTable& table, const CsvRow& row) {
  const std::vector<std::string>& cells = row.cells;
  const std::optional<PeerState> state = state_of(cells[1]);
  if (!state) return table.error_in(row, 1, fmt::format("no state is called \"{}\"", cells[1]), "on, off or acs");
  const std::optional<std::vector<Transfer>> transfers = transfers_in(cells[4]);
  if (!transfers) {
    return table.error_in(row, 4, fmt::format("\"{}\" names no transfers", cells[4]),
                          "from>to by card number or host, several with a space between: 0>1 host>2");
  }
  const std::optional<double> measured = number_in(cells[5]);
  if (!measured || !(*measured > 0.0)) return table.error_in(row, 5, "measured_GBps is a positive number");
  return LinkCase{cells[0], *state,   cells[2], cells[3], *transfers, Bandwidth(*measured * giga),
                  cells[6], cells[7], table.error_at(row, "").place};
}

Result<LinkExclusion> exclusion_of(const CsvTable& table, const CsvRow& row) {
  const std::optional<std::int64_t> rows = count_in(row.cells[2], 1);
  if (!rows) return table.error_in(row, 2, "the number of rows cannot be read", "a whole number, at least 1");
  return LinkExclusion{row.cells[0], row.cells[1], *rows, row.cells[3], row.cells[4]};
}

bool modelled(const LinkOutcome& outcome) {
  return outcome.measurement.not_modelled.empty();
}

double median_or_zero(std::vector<double> values) {
  return values.empty() ? 0.0 : median(std::move(values));
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
  return read_rows<LinkCase>(source, case_header, case_of);
}

Result<std::vector<LinkExclusion>> read_link_exclusions(const SourceText& source) {
  return read_rows<LinkExclusion>(source, exclusion_header, exclusion_of);
}

std::string link_rows_csv(const std::vector<LinkOutcome>& outcomes, const std::vector<LinkExclusion>& exclusions) {
  std::string text =
      "server,state,group,what,transfers,rows,measured_GBps,predicted_GBps,error,excluded,source\n";
  for (const LinkOutcome& outcome : outcomes) {
    const LinkCase& row = outcome.measurement;
    const std::string predicted = modelled(outcome)
                                      ? fmt::format("{:.6g},{:.6g}", outcome.predicted.count() / giga, outcome.error())
                                      : ",";
    text += fmt::format("{},{},{},{},{},1,{:.6g},{},{},{}\n", csv_cell(row.server), word_of(row.state),
                        csv_cell(row.group), csv_cell(row.what), text_of(row.transfers), row.measured.count() / giga,
                        predicted, csv_cell(row.not_modelled), csv_cell(row.source));
  }
  for (const LinkExclusion& row : exclusions) {
    text += fmt::format("{},,,{},,{},,,,{},{}\n", csv_cell(row.machine), csv_cell(row.measurement), row.rows,
                        csv_cell(row.rule), csv_cell(row.source));
  }
  return text;
}

double median_link_error(const std::vector<LinkOutcome>& outcomes) {
  std::vector<double> errors;
  for (const LinkOutcome& outcome : outcomes) {
    if (modelled(outcome)) errors.push_back(std::abs(outcome.error()));
  }
  return median_or_zero(std::move(errors));
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
