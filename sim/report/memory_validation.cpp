#include "report/memory_validation.hpp"

#include "base/csv.hpp"
#include "base/quantile.hpp"
#include "report/format.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace takt {
namespace {

constexpr double percent = 100.0;

/// Bounds of the medians, as fractions: what the project promises (they are 3.5 % and 7.2 %).
constexpr double stated_bound = 0.04, others_bound = 0.10;

struct Unit {
  const char* name;
  double bytes;
};
constexpr std::array<Unit, 5> units = {
    {{"bytes", 1.0}, {"GB", 1e9}, {"MB", 1e6}, {"GiB", 1073741824.0}, {"MiB", 1048576.0}}};

constexpr double most_bytes = 1e15;

const Unit* unit_named(const std::string& name) {
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& one) { return one.name == name; });
  return unit == units.end() ? nullptr : &*unit;
}

/// Whether `word` stands in `text` by itself, between what is no letter.
bool has_word(std::string_view text, std::string_view word) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end]))) return true;
  }
  return false;
}

bool is_scored(const MemoryOutcome& outcome) {
  return outcome.measure == MemoryMeasure::allocated && outcome.not_predicted.empty();
}

double median_or_zero(std::vector<double> values) {
  return values.empty() ? 0.0 : median(std::move(values));
}

using Errors = std::map<std::string, std::vector<double>>;

MemoryScore score_of(const Errors& by_publisher) {
  MemoryScore score;
  std::vector<double> all, medians;
  for (const auto& [publisher, errors] : by_publisher) {
    all.insert(all.end(), errors.begin(), errors.end());
    medians.push_back(median(errors));
  }
  score.rows = all.size();
  score.median = median_or_zero(std::move(all));
  score.publishers = median_or_zero(std::move(medians));
  return score;
}

/// Absolute errors of the rows for which `wanted` holds, by `key`.
template <class Wanted, class Key>
Errors errors_by(const std::vector<MemoryOutcome>& outcomes, Wanted wanted, Key key) {
  Errors errors;
  for (const MemoryOutcome& outcome : outcomes) {
    if (is_scored(outcome) && wanted(outcome)) errors[key(outcome)].push_back(std::abs(outcome.error()));
  }
  return errors;
}

bool is_stated(const MemoryOutcome& outcome) {
  return outcome.row.publisher == fully_stated_publisher;
}

std::string text_of(double error) {
  return fmt::format("{:.1f} %", percent * error);
}

std::string rows_table(const std::vector<MemoryOutcome>& outcomes) {
  Table table({{"allocated at the peak"},
               {"model"},
               {"stack"},
               {"cards"},
               {"batch", Align::right},
               {"measured", Align::right},
               {"predicted", Align::right},
               {"error", Align::right}});
  for (const MemoryOutcome& outcome : outcomes) {
    if (outcome.measure != MemoryMeasure::allocated) continue;
    const StepCase& row = outcome.row;
    const std::string batch = fmt::format("{} x {}", row.micro_batch, row.sequence);
    if (!outcome.not_predicted.empty()) {
      table.row({row.row, row.model, row.stack, row.machine, batch, format_size(outcome.measured), "-",
                 outcome.not_predicted});
      continue;
    }
    table.row({row.row, row.model, row.stack, row.machine, batch, format_size(outcome.measured),
               format_size(outcome.predicted), fmt::format("{:+.1f} %", percent * outcome.error())});
  }
  return table.text();
}

std::string reserved_table(const std::vector<MemoryOutcome>& outcomes) {
  Table table(
      {{"reserved"}, {"model"}, {"stack"}, {"measured", Align::right}, {"predicted range", Align::right}, {""}});
  std::size_t rows = 0, inside = 0;
  for (const MemoryOutcome& outcome : outcomes) {
    if (outcome.measure != MemoryMeasure::reserved) continue;
    if (!outcome.not_predicted.empty()) {
      table.row({outcome.row.row, outcome.row.model, outcome.row.stack, format_size(outcome.measured), "-",
                 outcome.not_predicted});
      continue;
    }
    ++rows;
    if (outcome.in_range()) ++inside;
    table.row({outcome.row.row, outcome.row.model, outcome.row.stack, format_size(outcome.measured),
               fmt::format("{} to {}", format_size(outcome.reserved.low), format_size(outcome.reserved.high)),
               outcome.in_range()                        ? "within"
               : outcome.measured < outcome.reserved.low ? "below"
                                                         : "above"});
  }
  if (table.empty()) return "";
  return table.text() + fmt::format("{} of {} within their range\n", inside, rows);
}

std::string errors_table(const char* title, const Errors& errors) {
  Table table({{title}, {"rows", Align::right}, {"median", Align::right}, {"p90", Align::right}});
  for (const auto& [name, values] : errors) {
    table.row({name, std::to_string(values.size()), text_of(median(values)), text_of(quantile(values, 0.9))});
  }
  return table.text();
}

std::string score_line(const char* what, const MemoryScore& score, double bound) {
  if (score.rows == 0) return "";
  return fmt::format("{}: median {} over {} rows, {} over publishers; bound {:.1f} %\n", what, text_of(score.median),
                     score.rows, text_of(score.publishers), percent * bound);
}

std::string left_out(const MemoryReport& report) {
  std::map<std::string, std::size_t> counts;
  for (const StepCase& row : report.excluded) ++counts[row.excluded];
  std::string text;
  for (const auto& [rule, count] : counts) {
    const auto reason = report.rules.find(rule);
    text += wrap(fmt::format("left out, {} rows ({}): {}", count, rule,
                             reason == report.rules.end() ? "no reason is recorded" : reason->second),
                 screen_width);
  }
  return text;
}

}  // namespace

std::optional<Bytes> measured_bytes(const StepCase& row) {
  const std::optional<double> number = number_in(row.memory);
  const Unit* unit = unit_named(row.memory_unit);
  if (!number || unit == nullptr || !(*number > 0.0) || *number * unit->bytes > most_bytes) return std::nullopt;
  return Bytes(std::llround(*number * unit->bytes));
}

std::optional<MemoryMeasure> measure_named(std::string_view kind) {
  const bool allocated = has_word(kind, "alloc") || has_word(kind, "allocated") || has_word(kind, "active");
  const bool reserved = has_word(kind, "reserved");
  if (allocated == reserved) return std::nullopt;
  return allocated ? MemoryMeasure::allocated : MemoryMeasure::reserved;
}

Diagnostics wrong_memory_cells(const StepCase& row) {
  Diagnostics errors;
  const auto wrong = [&](const char* column, std::string what, std::string hint) {
    errors.push_back({Severity::error, place_in(row, column), std::move(what), std::move(hint)});
  };
  const std::string row_name = "row " + row.row;
  const bool known_unit = unit_named(row.memory_unit) != nullptr;
  if (known_unit && !measured_bytes(row))
    wrong("memory", row_name + " has no peak of memory", "a number above 0 and below 1e15 bytes");
  if (!known_unit)
    wrong("memory_unit", row_name + " has no peak of memory in a known unit", "units are bytes, MB, MiB, GB and GiB");
  const std::optional<MemoryMeasure> measure = measure_named(row.memory_kind);
  if (!measure)
    wrong("memory_kind", row_name + " does not say whether its memory was allocated or reserved",
          "allocated (or active) or reserved, also within more words: max_memory_allocated");
  else if (*measure == MemoryMeasure::reserved && row.excluded.empty())
    wrong("memory_kind", row_name + " has reserved memory, and a row that is scored has allocated memory",
          "with \"reserved\" as excluded it is compared with the range of reserved memory");
  else if (*measure == MemoryMeasure::allocated && row.excluded == reserved_rule)
    wrong("memory_kind", row_name + " has allocated memory, and is excluded as reserved", "leave excluded empty");
  return errors;
}

double MemoryOutcome::error() const {
  return static_cast<double>(predicted.count()) / static_cast<double>(measured.count()) - 1.0;
}

MemoryScore score_of_stated(const std::vector<MemoryOutcome>& outcomes) {
  return score_of(errors_by(outcomes, is_stated, [](const MemoryOutcome& o) { return o.row.publisher; }));
}

MemoryScore score_of_others(const std::vector<MemoryOutcome>& outcomes) {
  return score_of(errors_by(
      outcomes, [](const MemoryOutcome& o) { return !is_stated(o); },
      [](const MemoryOutcome& o) { return o.row.publisher; }));
}

std::string memory_validation_text(const MemoryReport& report) {
  const std::vector<MemoryOutcome>& outcomes = report.outcomes;
  const auto all = [](const MemoryOutcome&) { return true; };
  return rows_table(outcomes) + '\n' + reserved_table(outcomes) + '\n' +
         errors_table("by stack", errors_by(outcomes, all, [](const MemoryOutcome& o) { return o.row.stack; })) + '\n' +
         errors_table("by publisher",
                      errors_by(outcomes, all, [](const MemoryOutcome& o) { return o.row.publisher; })) +
         '\n' + score_line(fully_stated_publisher, score_of_stated(outcomes), stated_bound) +
         score_line("all others", score_of_others(outcomes), others_bound) + left_out(report);
}

std::string memory_rows_csv(const MemoryReport& report) {
  std::string text =
      "row,publisher,family,machine,model,stack,method,measure,measured_bytes,predicted_bytes,predicted_low_bytes,"
      "predicted_high_bytes,error,excluded,source\n";
  const auto row_of = [](const StepCase& row) {
    return fmt::format("{},{},{},{},{},{},{}", csv_cell(row.row), csv_cell(row.publisher), csv_cell(row.family),
                       csv_cell(row.machine), csv_cell(row.model), csv_cell(row.stack), csv_cell(row.method));
  };
  for (const MemoryOutcome& outcome : report.outcomes) {
    const bool allocated = outcome.measure == MemoryMeasure::allocated;
    std::string predicted = ",,,";
    if (outcome.not_predicted.empty() && allocated)
      predicted = fmt::format("{},,,{:.6g}", outcome.predicted.count(), outcome.error());
    else if (outcome.not_predicted.empty())
      predicted = fmt::format(",{},{},", outcome.reserved.low.count(), outcome.reserved.high.count());
    text += fmt::format("{},{},{},{},{},{}\n", row_of(outcome.row), allocated ? "allocated" : "reserved",
                        outcome.measured.count(), predicted, csv_cell(outcome.not_predicted),
                        csv_cell(outcome.row.source));
  }
  for (const StepCase& row : report.excluded) {
    const std::optional<Bytes> measured = measured_bytes(row);
    text += fmt::format("{},,{},,,,,{},{}\n", row_of(row), measured ? std::to_string(measured->count()) : "",
                        csv_cell(row.excluded), csv_cell(row.source));
  }
  return text;
}

std::vector<std::string> left_memory_bounds(const std::vector<MemoryOutcome>& outcomes) {
  std::vector<std::string> left;
  const auto check = [&left](const char* what, const MemoryScore& score, double bound) {
    if (score.median > bound) {
      left.push_back(fmt::format("{}: median {}, recorded {}", what, text_of(score.median), text_of(bound)));
    }
  };
  check(fully_stated_publisher, score_of_stated(outcomes), stated_bound);
  check("all others", score_of_others(outcomes), others_bound);
  for (const MemoryOutcome& outcome : outcomes) {
    if (!outcome.not_predicted.empty()) left.push_back(outcome.row.row + " cannot run: " + outcome.not_predicted);
  }
  return left;
}

}  // namespace takt
