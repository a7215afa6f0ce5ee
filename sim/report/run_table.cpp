// One run on one screen.
#include "report/format.hpp"
#include "report/report.hpp"
#include "report/step_interval.hpp"
#include "report/table.hpp"
#include "report/wording.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace takt {
namespace {

constexpr std::size_t indent = 2;
constexpr std::size_t links_shown = 6;
constexpr std::size_t causes_shown = 6;
constexpr std::size_t name_width = 40;

double part(Duration time, Duration whole) {
  return whole > Duration{} ? to_seconds(time) / to_seconds(whole) : 0.0;
}

std::string setting(const RunResult& result) {
  Table table({{""}, {""}});
  table.row({"model", shorten(result.model_name + ": " + describe_method(result.scenario), screen_width - 14)});
  table.row({"machine", shorten(describe_cards(result) + ": " + result.topology_title, screen_width - 14)});
  table.row({"strategy", describe_strategy(result)});
  table.row({"batch", describe_batch(result.scenario)});
  return title_of(result.scenario) + '\n' + table.text(indent);
}

std::string headline(const StepMetrics& metrics) {
  Table table({{"step time", Align::right},
               {"tokens/step", Align::right},
               {"tokens/s", Align::right},
               {"tokens/s/card", Align::right},
               {"MFU", Align::right},
               {"HFU", Align::right}});
  table.row({format_time(metrics.step_time), format_count(metrics.tokens_per_step),
             format_number(metrics.tokens_per_second), format_number(metrics.tokens_per_second_per_card),
             format_share(metrics.mfu), format_share(metrics.hfu)});
  return table.text(indent);
}

/// Where published steps lay beside their predictions; empty where that says nothing of the run.
std::string interval_line(const RunResult& result) {
  if (!carries_interval(result)) return "";
  const PredictionInterval interval = step_interval(result);
  const double step = to_seconds(result.metrics.step_time);
  return fmt::format("  nine in ten published steps took {:.2f} to {:.2f} of their prediction: here {} to {}\n", interval.low,
                     interval.high, format_time(duration_from_seconds(interval.low * step)),
                     format_time(duration_from_seconds(interval.high * step)));
}

std::string time_table(const StepMetrics& metrics) {
  Table table({{"where the time goes (slowest rank)"}, {"time", Align::right}, {"of step", Align::right}});
  const auto row = [&](const std::string& name, Duration time) {
    table.row({name, format_time(time), format_share(part(time, metrics.step_time))});
  };
  row("compute", metrics.breakdown.compute);
  row("exposed communication", metrics.breakdown.exposed_communication);
  for (const auto& [kind, time] : metrics.communication.exposed_by_kind) {
    if (metrics.communication.exposed_by_kind.size() > 1) row("  " + kind, time);
  }
  row("optimizer", metrics.breakdown.optimizer);
  row("host, or waiting for another rank", metrics.breakdown.host);
  return table.text(indent);
}

std::string blame_table(const StepMetrics& metrics) {
  Table table({{"what the step waits for (critical path)"}, {"time", Align::right}, {"of step", Align::right}});
  for (std::size_t i = 0; i < std::min(causes_shown, metrics.blame.size()); ++i) {
    const BlameEntry& entry = metrics.blame[i];
    table.row({shorten(entry.resource, name_width), format_time(entry.time), format_share(entry.share)});
  }
  if (metrics.blame.size() > causes_shown) {
    Duration rest{};
    for (std::size_t i = causes_shown; i < metrics.blame.size(); ++i) rest += metrics.blame[i].time;
    table.row({fmt::format("{} smaller causes", metrics.blame.size() - causes_shown), format_time(rest),
               format_share(part(rest, metrics.step_time))});
  }
  return table.text(indent);
}

std::string communication_line(const CommunicationMetrics& communication) {
  if (communication.busy == Duration{}) return "";
  return fmt::format("  communication: {} busy, {} of it hidden (overlap {}); {} received a card\n",
                     format_time(communication.busy), format_time(communication.hidden),
                     format_share(communication.overlap_ratio), format_size(communication.received_per_card)) +
         wrap("most of it " + communication.longest, screen_width, 2 * indent);
}

std::string link_table(const StepMetrics& metrics) {
  if (metrics.links.empty()) return "";
  Table table({{"busiest links"},
               {"moved", Align::right},
               {"busy", Align::right},
               {"mean use", Align::right},
               {"peak use", Align::right},
               {"capacity", Align::right}});
  for (std::size_t i = 0; i < std::min(links_shown, metrics.links.size()); ++i) {
    const LinkMetrics& link = metrics.links[i];
    table.row({shorten(link.name, name_width), format_size(link.bytes), format_time(link.busy),
               format_share(link.utilisation_mean), format_share(link.utilisation_peak),
               format_bandwidth(link.capacity)});
  }
  return table.text(indent);
}

std::string memory_lines(const MemoryMetrics& memory) {
  std::string text =
      fmt::format("  memory of the fullest rank: peak {} of {} ({} nominal){}\n", format_size(memory.peak),
                  format_size(memory.capacity), format_size(memory.nominal), memory.fits ? "" : "  DOES NOT FIT");
  std::string parts;
  for (const auto& [category, size] : memory.components) {
    parts += (parts.empty() ? "" : ", ") + category + ' ' + format_size(size);
  }
  if (!parts.empty()) text += wrap("at " + memory.peak_op + ": " + parts, screen_width, 2 * indent);
  return text;
}

std::string between(Range range, const char* unit) {
  return fmt::format("{} to {} {}", format_number(range.low), format_number(range.high), unit);
}

std::string power_line(const std::optional<PowerMetrics>& power) {
  if (!power) return "";
  constexpr double kilo = 1e-3;
  const Range step = {power->joules_per_step.low * kilo, power->joules_per_step.high * kilo};
  return fmt::format("  a card draws {} of {}; the cards take {} a step,\n    {} a million tokens\n",
                     between(power->watts_per_card, "W"), format_number(power->limit.count()), between(step, "kJ"),
                     between(power->kwh_per_million_tokens(), "kWh"));
}

std::string host_memory_line(const HostMemory& memory) {
  if (memory.needed == Bytes{} && memory.nvme == Bytes{}) return "";
  std::string text = fmt::format("  host memory of a server: {} offloaded", format_size(memory.needed));
  if (memory.available > Bytes{}) text += fmt::format(" of {}", format_size(memory.available));
  if (!memory.fits()) text += "  DOES NOT FIT";
  if (memory.nvme > Bytes{}) text += fmt::format("; {} on NVMe", format_size(memory.nvme));
  return text + '\n';
}

}  // namespace

std::string run_table(const RunResult& result) {
  const StepMetrics& metrics = result.metrics;
  std::string text = setting(result) + '\n' + headline(metrics) + interval_line(result) + '\n' + time_table(metrics) + '\n' +
                     blame_table(metrics) + '\n' + communication_line(metrics.communication) +
                     memory_lines(metrics.memory) + host_memory_line(result.host_memory) + power_line(result.power) +
                     fit_changes_table(result);
  const std::string links = link_table(metrics);
  if (!links.empty()) text += '\n' + links;
  const std::string prices = "prices: compute " + result.compute_provenance + "; links " + result.link_provenance;
  return text + '\n' + wrap(prices, screen_width, indent);
}

}  // namespace takt
