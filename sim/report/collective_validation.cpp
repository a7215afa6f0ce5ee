#include "report/collective_validation.hpp"

#include "base/csv.hpp"
#include "base/quantile.hpp"
#include "config/csv.hpp"
#include "report/collective_residuals.hpp"
#include "report/nccl_tests.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

namespace takt {
namespace {

constexpr std::int64_t mebibyte = 1 << 20;
constexpr std::string_view case_header = "table,op,ranks,class,machine,bytes,measured_us";
constexpr std::string_view setup_header = "table,ranks,topology,cards,settings,harness_us,inferred";

Result<CollectiveCase> case_of(const CsvTable& table, const CsvRow& row) {
  const std::vector<std::string>& cells = row.cells;
  const auto kind = collective_named(cells[1]);
  if (!kind) {
    return table.error_in(row, 1, fmt::format("no collective is called \"{}\"", cells[1]),
                          "all_gather, reduce_scatter, all_reduce or broadcast");
  }
  const auto ranks = count_in(cells[2], 2);
  if (!ranks) return table.error_in(row, 2, "ranks is a whole number, at least 2");
  const auto bytes = count_in(cells[5], 1);
  if (!bytes) return table.error_in(row, 5, "bytes is a whole number, at least 1");
  const auto measured = number_in(cells[6]);
  if (!measured || !(*measured > 0.0)) return table.error_in(row, 6, "measured_us is a positive number");
  return CollectiveCase{cells[0], {*kind, Bytes(*bytes)}, *ranks, cells[3], cells[4], *measured,
                        table.error_at(row, "").place};
}

Result<CollectiveCaseSetup> setup_of(const CsvTable& table, const CsvRow& row) {
  const std::vector<std::string>& cells = row.cells;
  const auto ranks = count_in(cells[1], 2);
  if (!ranks) return table.error_in(row, 1, "ranks is a whole number, at least 2");
  const auto harness = number_in(cells[5]);
  if (!harness) return table.error_in(row, 5, "harness_us is a number");
  CollectiveCaseSetup setup{cells[0], *ranks, cells[2], cells[3], {}, *harness, cells[6]};
  std::istringstream words(cells[4]);
  for (std::string word; words >> word;) setup.settings.push_back(word);
  return setup;
}

double error_of(const CollectiveOutcome& outcome, Prediction prediction) {
  const double predicted = prediction == Prediction::recorded ? outcome.predicted_us : outcome.left_out_us;
  return 100.0 * std::abs(predicted / outcome.measurement.measured_us - 1.0);
}

std::string table_name(const CollectiveCase& one) {
  return fmt::format("{} {} {}", one.table, name_of(one.call.kind), one.ranks);
}

bool counts(const CollectiveOutcome& outcome, const ScoreOf& of) {
  if (of.sizes == Sizes::mebibyte_and_more && outcome.measurement.call.bytes.count() < mebibyte) return false;
  if (of.tables == Tables::not_inferred && outcome.inferred) return false;
  return of.family.empty() || outcome.measurement.family == of.family;
}

/// The median error of each table, by the table's name.
std::map<std::string, double> table_medians(const std::vector<CollectiveOutcome>& outcomes, const ScoreOf& of) {
  std::map<std::string, std::vector<double>> errors;
  for (const CollectiveOutcome& outcome : outcomes) {
    if (counts(outcome, of)) errors[table_name(outcome.measurement)].push_back(error_of(outcome, of.prediction));
  }
  std::map<std::string, double> medians;
  for (auto& [name, list] : errors) medians.emplace(name, median(std::move(list)));
  return medians;
}

std::string percent(double value) {
  return fmt::format("{:.1f}", value);
}

std::string score_text(const CollectiveScore& one) {
  return one.tables == 0 ? "-" : fmt::format("{:.1f} ({:.0f})", one.median, one.ninetieth);
}

bool any_left_out(const std::vector<CollectiveOutcome>& outcomes) {
  return std::any_of(outcomes.begin(), outcomes.end(), [](const auto& outcome) { return outcome.left_out_us > 0.0; });
}

std::vector<std::string> families(const std::vector<CollectiveOutcome>& outcomes) {
  std::vector<std::string> names;
  for (const CollectiveOutcome& outcome : outcomes) {
    const std::string& family = outcome.measurement.family;
    if (std::find(names.begin(), names.end(), family) == names.end()) names.push_back(family);
  }
  return names;
}

std::string by_table(const std::vector<CollectiveOutcome>& outcomes) {
  Table table({{"table"},
               {"ranks", Align::right},
               {"rows", Align::right},
               {"median", Align::right},
               {">= 1 MiB", Align::right},
               {"left out", Align::right},
               {"largest size runs as"}});
  const bool left = any_left_out(outcomes);
  const auto all = table_medians(outcomes, {});
  const auto big = table_medians(outcomes, {.sizes = Sizes::mebibyte_and_more});
  const auto out = table_medians(outcomes, {.prediction = Prediction::left_out});
  for (std::size_t i = 0; i < outcomes.size();) {
    const CollectiveCase& first = outcomes[i].measurement;
    const std::string name = table_name(first);
    std::size_t next = i;
    while (next < outcomes.size() && table_name(outcomes[next].measurement) == name) ++next;
    const auto large = big.find(name);
    table.row({fmt::format("{}{} {}", first.table, outcomes[i].inferred ? " *" : "", name_of(first.call.kind)),
               std::to_string(first.ranks), std::to_string(next - i), percent(all.at(name)),
               large == big.end() ? "" : percent(large->second), left ? percent(out.at(name)) : "",
               outcomes[next - 1].choice});
    i = next;
  }
  return table.text() + "* the topology or a setting was inferred from the rows themselves\n";
}

std::string by_class(const std::vector<CollectiveOutcome>& outcomes) {
  Table table({{"class"},
               {"all sizes", Align::right},
               {">= 1 MiB", Align::right},
               {"left out, all", Align::right},
               {"left out, >= 1 MiB", Align::right}});
  const bool left = any_left_out(outcomes);
  const auto row = [&](const std::string& title, const std::string& family, Tables tables) {
    const auto cell = [&](Prediction prediction, Sizes sizes) {
      return prediction == Prediction::left_out && !left
                 ? std::string()
                 : score_text(score(outcomes, {prediction, sizes, tables, family}));
    };
    table.row({title, cell(Prediction::recorded, Sizes::all), cell(Prediction::recorded, Sizes::mebibyte_and_more),
               cell(Prediction::left_out, Sizes::all), cell(Prediction::left_out, Sizes::mebibyte_and_more)});
  };
  for (const std::string& family : families(outcomes)) row(family, family, Tables::all);
  table.rule();
  row("all", "", Tables::all);
  row("all but inferred", "", Tables::not_inferred);
  return table.text() + "median (90th percentile) over tables of the table's median error, percent\n";
}

/// A score that must hold.
struct Bound {
  const char* what;
  ScoreOf of;
  double median, ninetieth;
};

/// A little above what they are: a change that makes one worse has to say so. Of predictions by constants that have not
/// seen the machine: what the project promises.
const std::vector<Bound>& bounds() {
  constexpr Prediction recorded = Prediction::recorded, left_out = Prediction::left_out;
  constexpr Sizes all = Sizes::all, big = Sizes::mebibyte_and_more;
  static const std::vector<Bound> list{
      {"all sizes", {recorded, all, Tables::all}, 5.5, 18.0},
      {"1 MiB and more", {recorded, big, Tables::all}, 5.0, 15.0},
      {"PCIe peer-to-peer, 1 MiB and more", {recorded, big, Tables::all, "PCIe direct/SYS P2P"}, 14.0, 20.0},
      {"PCIe switches, 1 MiB and more", {recorded, big, Tables::all, "PCIe switch"}, 14.0, 25.0},
      {"bridges, 1 MiB and more", {recorded, big, Tables::all, "NVLink bridge"}, 15.0, 30.0},
      {"left out, all sizes", {left_out, all, Tables::all}, 7.7, 23.0},
      {"left out, 1 MiB and more", {left_out, big, Tables::all}, 6.1, 19.0},
      {"PCIe peer-to-peer left out, 1 MiB and more", {left_out, big, Tables::all, "PCIe direct/SYS P2P"}, 14.0, 23.0},
      {"PCIe switches left out, 1 MiB and more", {left_out, big, Tables::all, "PCIe switch"}, 14.0, 23.0},
      {"bridges left out, 1 MiB and more", {left_out, big, Tables::all, "NVLink bridge"}, 15.0, 30.0},
  };
  return list;
}

}  // namespace

Result<std::vector<CollectiveCase>> read_collective_cases(const SourceText& source) {
  return read_rows<CollectiveCase>(source, case_header, case_of);
}

Result<std::vector<CollectiveCaseSetup>> read_collective_setups(const SourceText& source) {
  return read_rows<CollectiveCaseSetup>(source, setup_header, setup_of);
}

CollectiveScore score(const std::vector<CollectiveOutcome>& outcomes, const ScoreOf& of) {
  std::vector<double> medians;
  for (const auto& [name, value] : table_medians(outcomes, of)) medians.push_back(value);
  if (medians.empty()) return {};
  return {median(medians), quantile(medians, 0.9), medians.size()};
}

std::string collective_validation_text(const std::vector<CollectiveOutcome>& outcomes) {
  std::string text = by_table(outcomes) + "\n" + by_class(outcomes) + fmt::format("{} rows\n", outcomes.size());
  if (any_left_out(outcomes)) text += "\n" + collective_residuals_text(outcomes);
  return text;
}

std::string collective_rows_csv(const std::vector<CollectiveOutcome>& outcomes) {
  std::string text =
      "table,op,ranks,class,machine,bytes,measured_us,predicted_us,error,left_out_us,inferred,runs_as,excluded\n";
  for (const CollectiveOutcome& outcome : outcomes) {
    const CollectiveCase& one = outcome.measurement;
    text += fmt::format("{},{},{},{},{},{},{:.6g},{:.6g},{:.6g},{},{},{},\n", csv_cell(one.table),
                        name_of(one.call.kind), one.ranks, csv_cell(one.family), csv_cell(one.machine),
                        one.call.bytes.count(), one.measured_us, outcome.predicted_us,
                        outcome.predicted_us / one.measured_us - 1.0,
                        outcome.left_out_us > 0.0 ? fmt::format("{:.6g}", outcome.left_out_us) : "",
                        outcome.inferred ? "yes" : "no", csv_cell(outcome.choice));
  }
  return text;
}

std::vector<std::string> broken_bounds(const std::vector<CollectiveOutcome>& outcomes) {
  std::vector<std::string> broken;
  for (const Bound& bound : bounds()) {
    if (bound.of.prediction == Prediction::left_out && !any_left_out(outcomes)) continue;
    const CollectiveScore now = score(outcomes, bound.of);
    if (now.median <= bound.median && now.ninetieth <= bound.ninetieth) continue;
    broken.push_back(fmt::format("{}: {} % over tables, recorded {:.1f} ({:.0f})", bound.what, score_text(now),
                                 bound.median, bound.ninetieth));
  }
  if (any_left_out(outcomes)) {
    for (std::string& left : left_collective_intervals(outcomes)) broken.push_back(std::move(left));
  }
  return broken;
}

}  // namespace takt
