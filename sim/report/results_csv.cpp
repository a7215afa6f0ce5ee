// Results for spreadsheets: one line a run, the numbers as in takt.result/1.
#include "report/report.hpp"
#include "report/result_columns.hpp"
#include "report/step_interval.hpp"

#include <fmt/format.h>

namespace takt {
namespace {

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

/// A bound of a range of the run's power metrics.
template <class Value>
Json of_power(const RunResult& run, Value value) {
  return run.power ? Json(value(*run.power)) : Json();
}

/// A bound of the interval in which nine in ten steps lie.
Json of_interval(const RunResult& run, double Range::*bound) {
  const std::optional<Range> seconds = step_time_interval(run);
  return seconds ? Json((*seconds).*bound) : Json();
}

constexpr ResultColumn columns[] = {
    {"scenario", Better::neither, [](const RunResult& r) -> Json { return r.scenario.name; }},
    {"file", Better::neither, [](const RunResult& r) -> Json { return r.scenario.file; }},
    {"hash", Better::neither, [](const RunResult& r) -> Json { return fmt::format("{:016x}", r.scenario.hash); }},
    {"ranks", Better::neither, [](const RunResult& r) -> Json { return r.metrics.ranks; }},
    {"step_time_s", Better::lower, [](const RunResult& r) -> Json { return to_seconds(r.metrics.step_time); }},
    {"tokens_per_step", Better::neither, [](const RunResult& r) -> Json { return r.metrics.tokens_per_step; }},
    {"tokens_per_s", Better::higher, [](const RunResult& r) -> Json { return r.metrics.tokens_per_second; }},
    {"tokens_per_s_per_card", Better::higher,
     [](const RunResult& r) -> Json { return r.metrics.tokens_per_second_per_card; }},
    {"mfu", Better::higher, [](const RunResult& r) -> Json { return r.metrics.mfu; }},
    {"hfu", Better::higher, [](const RunResult& r) -> Json { return r.metrics.hfu; }},
    {"compute_s", Better::lower, [](const RunResult& r) -> Json { return to_seconds(r.metrics.breakdown.compute); }},
    {"exposed_communication_s", Better::lower,
     [](const RunResult& r) -> Json { return to_seconds(r.metrics.breakdown.exposed_communication); }},
    {"host_s", Better::lower, [](const RunResult& r) -> Json { return to_seconds(r.metrics.breakdown.host); }},
    {"optimizer_s", Better::lower,
     [](const RunResult& r) -> Json { return to_seconds(r.metrics.breakdown.optimizer); }},
    {"communication_busy_s", Better::lower,
     [](const RunResult& r) -> Json { return to_seconds(r.metrics.communication.busy); }},
    {"communication_hidden_s", Better::neither,
     [](const RunResult& r) -> Json { return to_seconds(r.metrics.communication.hidden); }},
    {"overlap_ratio", Better::higher, [](const RunResult& r) -> Json { return r.metrics.communication.overlap_ratio; }},
    {"received_bytes_per_card", Better::lower,
     [](const RunResult& r) -> Json { return r.metrics.communication.received_per_card.count(); }},
    {"memory_capacity_bytes", Better::neither,
     [](const RunResult& r) -> Json { return r.metrics.memory.capacity.count(); }},
    {"memory_peak_bytes", Better::lower, [](const RunResult& r) -> Json { return r.metrics.memory.peak.count(); }},
    {"memory_states_bytes", Better::lower, [](const RunResult& r) -> Json { return r.metrics.memory.states.count(); }},
    {"fits", Better::neither, [](const RunResult& r) -> Json { return r.metrics.memory.fits; }},
    {"first_blame", Better::neither,
     [](const RunResult& r) -> Json {
       return r.metrics.blame.empty() ? Json() : Json(r.metrics.blame.front().resource);
     }},
    {"first_blame_share", Better::neither,
     [](const RunResult& r) -> Json { return r.metrics.blame.empty() ? Json() : Json(r.metrics.blame.front().share); }},
    {"compute_provenance", Better::neither, [](const RunResult& r) -> Json { return r.compute_provenance; }},
    {"link_provenance", Better::neither, [](const RunResult& r) -> Json { return r.link_provenance; }},
    {"cost_per_hour", Better::lower,
     [](const RunResult& r) -> Json { return r.cost ? Json(r.cost->per_hour) : Json(); }},
    {"cost_per_mtoken", Better::lower,
     [](const RunResult& r) -> Json { return r.cost ? Json(r.cost->per_million_tokens) : Json(); }},
    {"card_low_w", Better::lower,
     [](const RunResult& r) { return of_power(r, [](const PowerMetrics& p) { return p.watts_per_card.low; }); }},
    {"card_high_w", Better::lower,
     [](const RunResult& r) { return of_power(r, [](const PowerMetrics& p) { return p.watts_per_card.high; }); }},
    {"step_low_j", Better::lower,
     [](const RunResult& r) { return of_power(r, [](const PowerMetrics& p) { return p.joules_per_step.low; }); }},
    {"step_high_j", Better::lower,
     [](const RunResult& r) { return of_power(r, [](const PowerMetrics& p) { return p.joules_per_step.high; }); }},
    {"token_low_j", Better::lower,
     [](const RunResult& r) { return of_power(r, [](const PowerMetrics& p) { return p.joules_per_token.low; }); }},
    {"token_high_j", Better::lower,
     [](const RunResult& r) { return of_power(r, [](const PowerMetrics& p) { return p.joules_per_token.high; }); }},
    {"mtoken_low_kwh", Better::lower,
     [](const RunResult& r) {
       return of_power(r, [](const PowerMetrics& p) { return p.kwh_per_million_tokens().low; });
     }},
    {"mtoken_high_kwh", Better::lower,
     [](const RunResult& r) {
       return of_power(r, [](const PowerMetrics& p) { return p.kwh_per_million_tokens().high; });
     }},
    {"step_time_low_s", Better::lower, [](const RunResult& r) { return of_interval(r, &Range::low); }},
    {"step_time_high_s", Better::lower, [](const RunResult& r) { return of_interval(r, &Range::high); }},
};

}  // namespace

std::span<const ResultColumn> result_columns() {
  return columns;
}

std::string csv_cell(const Json& cell) {
  if (const auto* text = std::get_if<std::string>(&cell.value)) return csv_text(*text);
  if (std::holds_alternative<std::nullptr_t>(cell.value)) return "";
  return csv_text(write_json(cell, JsonLayout::compact));  // a list has commas
}

std::string csv_line(std::span<const Json> cells) {
  std::string line;
  for (const Json& cell : cells) line += (&cell == cells.data() ? "" : ",") + csv_cell(cell);
  return line + '\n';
}

std::string results_csv(std::span<const RunResult> results) {
  std::string text;
  for (const ResultColumn& column : columns) text += (text.empty() ? "" : ",") + std::string(column.name);
  text += '\n';
  for (const RunResult& result : results) {
    std::vector<Json> cells;
    for (const ResultColumn& column : columns) cells.push_back(column.cell(result));
    text += csv_line(cells);
  }
  return text;
}

}  // namespace takt
