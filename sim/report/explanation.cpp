#include "report/explanation.hpp"

#include "base/text.hpp"
#include "config/json.hpp"
#include "report/format.hpp"
#include "report/table.hpp"
#include "report/wording.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace takt {
namespace {

constexpr double percent = 100.0;

double change(Duration now, Duration before) { return to_seconds(now) / to_seconds(before) - 1.0; }

/// "-3.4 %", "+12.0 %", "0.0 %".
std::string signed_percent(double share) {
  const std::string text = fmt::format("{:+.1f} %", percent * share);
  return text.substr(1) == "0.0 %" ? "0.0 %" : text;
}

std::string csv_text(const std::string& text) {
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + '"';
}

std::string number(double value) { return write_json(Json(value), JsonLayout::compact); }

std::vector<Sensitivity> largest_first(std::vector<Sensitivity> list) {
  std::stable_sort(list.begin(), list.end(),
                   [](const Sensitivity& a, const Sensitivity& b) { return a.step_time < b.step_time; });
  return list;
}

std::string sensitivity_tables(const RunResult& result, const std::vector<Sensitivity>& sensitivities) {
  const StepMetrics& metrics = result.metrics;
  Table blame({{"what the step waits for (critical path)"}, {"time", Align::right}, {"of step", Align::right}});
  for (const BlameEntry& entry : metrics.blame) {
    blame.row({entry.resource, format_time(entry.time), format_share(entry.share)});
  }
  constexpr double shown = 0.0005;  // what rounds to 0.1 %
  Table table({{"10 % more of"}, {"step", Align::right}, {"change", Align::right}});
  std::vector<std::string> little;
  for (const Sensitivity& entry : sensitivities) {
    const double share = change(entry.step_time, metrics.step_time);
    if (std::abs(share) < shown) little.push_back(entry.resource);
    else table.row({entry.resource, format_time(entry.step_time), signed_percent(share)});
  }
  const std::string rest =
      little.empty() ? "" : "\n" + wrap("Less than 0.1 %: " + join(little, ", ") + ".", screen_width);
  return fmt::format("{}\nstep time {}, overlap ratio {}\n\n{}\n{}{}", title_of(result.scenario),
                     format_time(metrics.step_time), format_share(metrics.communication.overlap_ratio), blame.text(),
                     table.text(), rest);
}

Json sensitivity_json(const RunResult& result, const std::vector<Sensitivity>& sensitivities) {
  Json::Array blame, changes;
  for (const BlameEntry& entry : result.metrics.blame) {
    blame.push_back(
        Json::Object{{"resource", entry.resource}, {"seconds", to_seconds(entry.time)}, {"share", entry.share}});
  }
  for (const Sensitivity& entry : sensitivities) {
    changes.push_back(Json::Object{{"resource", entry.resource},
                                   {"step_time_s", to_seconds(entry.step_time)},
                                   {"change", change(entry.step_time, result.metrics.step_time)}});
  }
  return Json::Object{{"schema", "takt.explanation/1"},
                      {"scenario", result.scenario.name},
                      {"step_time_s", to_seconds(result.metrics.step_time)},
                      {"blame", std::move(blame)},
                      {"sensitivities", std::move(changes)}};
}

std::string sensitivity_csv(const RunResult& result, const std::vector<Sensitivity>& sensitivities) {
  std::string text = "scenario,resource,step_time_s,change\n";
  for (const Sensitivity& entry : sensitivities) {
    text += fmt::format("{},{},{},{}\n", csv_text(result.scenario.name), csv_text(entry.resource),
                        number(to_seconds(entry.step_time)), number(change(entry.step_time, result.metrics.step_time)));
  }
  return text;
}

std::string one_run_table(const FlippedRun& run) {
  const StepMetrics& base = run.result.metrics;
  Table table({{"assumption"}, {""}, {"step", Align::right}, {"change", Align::right}, {"overlap", Align::right}});
  table.row({"as it is", "", format_time(base.step_time), "", format_share(base.communication.overlap_ratio)});
  table.rule();
  for (const Flip& flip : run.flips) {
    if (!flip.metrics) continue;
    table.row({flip.setting, flip.meaning, format_time(flip.metrics->step_time),
               signed_percent(change(flip.metrics->step_time, base.step_time)),
               format_share(flip.metrics->communication.overlap_ratio)});
  }
  return title_of(run.result.scenario) + "\n\n" + table.text();
}

std::string name_of(std::size_t run) { return std::string(1, static_cast<char>('A' + run)); }

/// "1.38": tokens a second of the first over those of the second.
std::string lead(const StepMetrics* first, const StepMetrics* second) {
  if (first == nullptr || second == nullptr) return "";
  return fmt::format("{:.2f}", first->tokens_per_second / second->tokens_per_second);
}

/// A flip that means nothing to a scenario leaves it as it is.
const StepMetrics& metrics_under(const FlippedRun& run, std::size_t flip) {
  return run.flips[flip].metrics ? *run.flips[flip].metrics : run.result.metrics;
}

std::string comparison_table(std::span<const FlippedRun> runs) {
  std::vector<Column> columns = {{"assumption"}, {""}};
  std::string titles;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    titles += name_of(i) + "  " + title_of(runs[i].result.scenario) + '\n';
    columns.push_back({name_of(i) + " step", Align::right});
    columns.push_back({"change", Align::right});
  }
  const bool pair = runs.size() == 2;
  if (pair) columns.push_back({"A / B", Align::right});
  Table table(columns);
  std::vector<std::string> base = {"as it is", ""};
  for (const FlippedRun& run : runs) {
    base.push_back(format_time(run.result.metrics.step_time));
    base.emplace_back();
  }
  if (pair) base.push_back(lead(&runs[0].result.metrics, &runs[1].result.metrics));
  table.row(base);
  table.rule();
  for (std::size_t f = 0; f < runs.front().flips.size(); ++f) {
    if (std::none_of(runs.begin(), runs.end(), [&](const FlippedRun& run) { return run.flips[f].metrics.has_value(); }))
      continue;
    std::vector<std::string> row = {runs.front().flips[f].setting, runs.front().flips[f].meaning};
    for (const FlippedRun& run : runs) {
      const Duration step = metrics_under(run, f).step_time;
      row.push_back(format_time(step));
      row.push_back(signed_percent(change(step, run.result.metrics.step_time)));
    }
    if (pair) row.push_back(lead(&metrics_under(runs[0], f), &metrics_under(runs[1], f)));
    table.row(row);
  }
  return titles + '\n' + table.text() + (pair ? "\nA / B: tokens a second of A over those of B.\n" : "");
}

Json assumptions_json(std::span<const FlippedRun> runs) {
  Json::Array results;
  for (const FlippedRun& run : runs) {
    Json::Array flips;
    for (const Flip& flip : run.flips) {
      if (!flip.metrics) continue;
      flips.push_back(Json::Object{{"setting", flip.setting},
                                   {"meaning", flip.meaning},
                                   {"step_time_s", to_seconds(flip.metrics->step_time)},
                                   {"change", change(flip.metrics->step_time, run.result.metrics.step_time)},
                                   {"tokens_per_s", flip.metrics->tokens_per_second},
                                   {"overlap_ratio", flip.metrics->communication.overlap_ratio}});
    }
    results.push_back(Json::Object{{"scenario", run.result.scenario.name},
                                   {"step_time_s", to_seconds(run.result.metrics.step_time)},
                                   {"tokens_per_s", run.result.metrics.tokens_per_second},
                                   {"overlap_ratio", run.result.metrics.communication.overlap_ratio},
                                   {"assumptions", std::move(flips)}});
  }
  return Json::Object{{"schema", "takt.assumptions/1"}, {"results", std::move(results)}};
}

std::string assumptions_csv(std::span<const FlippedRun> runs) {
  std::string text = "scenario,setting,step_time_s,change,tokens_per_s,overlap_ratio\n";
  const auto line = [&](const FlippedRun& run, const std::string& setting, const StepMetrics& metrics) {
    text += fmt::format("{},{},{},{},{},{}\n", csv_text(run.result.scenario.name), csv_text(setting),
                        number(to_seconds(metrics.step_time)),
                        number(change(metrics.step_time, run.result.metrics.step_time)),
                        number(metrics.tokens_per_second), number(metrics.communication.overlap_ratio));
  };
  for (const FlippedRun& run : runs) {
    line(run, "as it is", run.result.metrics);
    for (const Flip& flip : run.flips) {
      if (flip.metrics) line(run, flip.setting, *flip.metrics);
    }
  }
  return text;
}

}  // namespace

std::string sensitivities_explained(const RunResult& result, const std::vector<Sensitivity>& sensitivities,
                                    ExplanationFormat format) {
  const std::vector<Sensitivity> sorted = largest_first(sensitivities);
  switch (format) {
    case ExplanationFormat::table: return sensitivity_tables(result, sorted);
    case ExplanationFormat::json: return write_json(sensitivity_json(result, sorted));
    case ExplanationFormat::csv: return sensitivity_csv(result, sorted);
  }
  return "";
}

std::string assumptions_explained(std::span<const FlippedRun> runs, ExplanationFormat format) {
  switch (format) {
    case ExplanationFormat::table: return runs.size() == 1 ? one_run_table(runs.front()) : comparison_table(runs);
    case ExplanationFormat::json: return write_json(assumptions_json(runs));
    case ExplanationFormat::csv: return assumptions_csv(runs);
  }
  return "";
}

}  // namespace takt
