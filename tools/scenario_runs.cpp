#include "scenario_runs.hpp"

#include "report/format.hpp"
#include "report/report.hpp"

#include <fmt/format.h>
#include <ostream>

namespace takt {

std::vector<Option> override_options() {
  return {{"set", "KEY=VALUE", "override a key of the scenario", {}, Option::Count::repeated}};
}

std::vector<Option> simulation_options() {
  std::vector<Option> options = override_options();
  options.push_back({"format", "FORMAT", "how results are written (default table)", {"table", "json", "csv"}});
  options.push_back({"threads", "N", "threads of the engine (default 1); results do not depend on it", {}});
  options.push_back({"require-fit", "", "exit with status 1 if a run does not fit in memory", {}});
  return options;
}

Result<Overrides> overrides_of(const ParsedOptions& options) {
  Overrides overrides;
  Diagnostics errors;
  for (const std::string& text : options.all("set")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      errors.push_back(usage_error("--set needs KEY=VALUE, not '" + text + "'", "for example batch.micro_batch=2"));
    } else {
      overrides.push_back({text.substr(0, equals), text.substr(equals + 1)});
    }
  }
  if (const std::optional<std::string> text = options.value("iterations")) {
    const Result<std::size_t> number = positive_number("iterations", *text);
    if (!number) return number.diagnostics();
    overrides.push_back({"assumptions.iteration", std::to_string(*number)});
  }
  if (!errors.empty()) return errors;
  return overrides;
}

Result<std::unique_ptr<Executor>> executor_of(const ParsedOptions& options) {
  std::unique_ptr<Executor> executor;
  if (const std::optional<std::string> text = options.value("threads")) {
    const Result<std::size_t> threads = positive_number("threads", *text);
    if (!threads) return threads.diagnostics();
    if (*threads > 1) executor = make_tbb_executor(*threads);
  }
  return executor;
}

namespace {

Diagnostic does_not_fit(const FinishedRun& run) {
  const MemoryMetrics& memory = run.result.metrics.memory;
  SourcePlace place;
  place.file = run.result.scenario.file;
  return {Severity::warning, place,
          fmt::format("does not fit: the fullest rank needs {} and its card has {}, {} too few",
                      format_size(memory.peak), format_size(memory.capacity), format_size(memory.over())),
          "more cards, checkpointing, a smaller micro-batch or an 8-bit optimizer take less"};
}

Diagnostic does_not_fit_host(const FinishedRun& run) {
  const HostMemory& memory = run.result.host_memory;
  SourcePlace place;
  place.file = run.result.scenario.file;
  return {Severity::warning, place,
          fmt::format("does not fit in host memory: {} are offloaded and the server has {}", format_size(memory.needed),
                      format_size(memory.available)),
          "more memory (hardware.server or platform keys), offload to nvme, or more servers"};
}

}  // namespace

ScenarioRuns run_scenarios(const ParsedOptions& options, const Environment& environment, Rates rates) {
  ScenarioRuns runs;
  const Result<Overrides> overrides = overrides_of(options);
  const Result<std::unique_ptr<Executor>> executor = executor_of(options);
  if (!overrides || !executor) {
    environment.err << render(overrides.diagnostics()) << render(executor.diagnostics());
    runs.status = ExitStatus::wrong_usage;
    return runs;
  }
  Library library(search_path(environment.takt_path));
  for (const std::string& file : options.arguments) {
    const Result<SourceText> source = read_text_file(file);
    Result<FinishedRun> run = source
                                  ? takt::run(*source, *overrides, library,
                                              {.executor = executor->get(), .record_rates = rates == Rates::recorded})
                                  : Result<FinishedRun>(source.diagnostics());
    environment.err << render(run.diagnostics());
    if (!run) {
      runs.status = ExitStatus::invalid;
      continue;
    }
    if (!run->result.metrics.memory.fits) {
      environment.err << render(does_not_fit(*run));
      if (options.has("require-fit")) runs.status = ExitStatus::invalid;
    }
    if (!run->result.host_memory.fits()) {
      environment.err << render(does_not_fit_host(*run));
      if (options.has("require-fit")) runs.status = ExitStatus::invalid;
    }
    runs.finished.push_back(std::move(*run));
  }
  return runs;
}

std::string formatted(const ParsedOptions& options, const std::vector<RunResult>& results,
                      std::string (*table)(std::span<const RunResult>)) {
  const std::string format = options.value("format").value_or("table");
  if (format == "json") return results_json(results);
  if (format == "csv") return results_csv(results);
  return table(results);
}

}  // namespace takt
