// Results for spreadsheets: one line a run, the numbers as in takt.result/1.
#include "config/json.hpp"
#include "report/report.hpp"

#include <fmt/format.h>

namespace takt {
namespace {

struct CsvColumn {
  const char* name;
  std::string (*cell)(const RunResult&);
};

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

std::string number(const Json& value) {
  return write_json(value, JsonLayout::compact);
}
std::string seconds(Duration time) {
  return number(to_seconds(time));
}

constexpr CsvColumn columns[] = {
    {"scenario", [](const RunResult& r) { return csv_text(r.scenario.name); }},
    {"file", [](const RunResult& r) { return csv_text(r.scenario.file); }},
    {"hash", [](const RunResult& r) { return fmt::format("{:016x}", r.scenario.hash); }},
    {"ranks", [](const RunResult& r) { return number(r.metrics.ranks); }},
    {"step_time_s", [](const RunResult& r) { return seconds(r.metrics.step_time); }},
    {"tokens_per_step", [](const RunResult& r) { return number(r.metrics.tokens_per_step); }},
    {"tokens_per_s", [](const RunResult& r) { return number(r.metrics.tokens_per_second); }},
    {"tokens_per_s_per_card", [](const RunResult& r) { return number(r.metrics.tokens_per_second_per_card); }},
    {"mfu", [](const RunResult& r) { return number(r.metrics.mfu); }},
    {"hfu", [](const RunResult& r) { return number(r.metrics.hfu); }},
    {"compute_s", [](const RunResult& r) { return seconds(r.metrics.breakdown.compute); }},
    {"exposed_communication_s", [](const RunResult& r) { return seconds(r.metrics.breakdown.exposed_communication); }},
    {"host_s", [](const RunResult& r) { return seconds(r.metrics.breakdown.host); }},
    {"optimizer_s", [](const RunResult& r) { return seconds(r.metrics.breakdown.optimizer); }},
    {"communication_busy_s", [](const RunResult& r) { return seconds(r.metrics.communication.busy); }},
    {"communication_hidden_s", [](const RunResult& r) { return seconds(r.metrics.communication.hidden); }},
    {"overlap_ratio", [](const RunResult& r) { return number(r.metrics.communication.overlap_ratio); }},
    {"received_bytes_per_card",
     [](const RunResult& r) { return number(r.metrics.communication.received_per_card.count()); }},
    {"memory_capacity_bytes", [](const RunResult& r) { return number(r.metrics.memory.capacity.count()); }},
    {"memory_peak_bytes", [](const RunResult& r) { return number(r.metrics.memory.peak.count()); }},
    {"memory_states_bytes", [](const RunResult& r) { return number(r.metrics.memory.states.count()); }},
    {"fits", [](const RunResult& r) { return number(r.metrics.memory.fits); }},
    {"first_blame",
     [](const RunResult& r) { return r.metrics.blame.empty() ? "" : csv_text(r.metrics.blame.front().resource); }},
    {"first_blame_share",
     [](const RunResult& r) { return r.metrics.blame.empty() ? "" : number(r.metrics.blame.front().share); }},
    {"compute_provenance", [](const RunResult& r) { return csv_text(r.compute_provenance); }},
    {"link_provenance", [](const RunResult& r) { return csv_text(r.link_provenance); }},
};

}  // namespace

std::string results_csv(std::span<const RunResult> results) {
  std::string text;
  for (const CsvColumn& column : columns) text += (text.empty() ? "" : ",") + std::string(column.name);
  text += '\n';
  for (const RunResult& result : results) {
    std::string line;
    for (const CsvColumn& column : columns) line += (&column == columns ? "" : ",") + column.cell(result);
    text += line + '\n';
  }
  return text;
}

}  // namespace takt
