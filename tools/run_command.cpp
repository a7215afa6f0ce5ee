#include "commands.hpp"
#include "config/scenario_document.hpp"
#include "fit_changes.hpp"
#include "jobs_run.hpp"
#include "output_file.hpp"
#include "report/report.hpp"
#include "scenario_runs.hpp"

#include <algorithm>
#include <ostream>

namespace takt {
namespace {

std::string tables(std::span<const RunResult> results) {
  std::string text;
  for (const RunResult& result : results) text += (text.empty() ? "" : "\n") + run_table(result);
  return text;
}

std::string tables_with_memory(std::span<const RunResult> results) {
  std::string text;
  for (const RunResult& result : results) {
    text += (text.empty() ? "" : "\n") + run_table(result) + '\n' + memory_table(result);
  }
  return text;
}

/// The file and the options were sound when `run` was made.
std::vector<FitChange> changes_for(const FinishedRun& run, const ParsedOptions& options, Library& library) {
  const Result<SourceText> source = read_text_file(run.result.scenario.file);
  const Result<Overrides> overrides = overrides_of(options);
  const Result<std::unique_ptr<Executor>> executor = executor_of(options);
  if (!source || !overrides || !executor) return {};
  return try_fit_changes(run, *source, *overrides, library, executor->get());
}

/// Whether the file is one of jobs. What cannot be read is left to those who read scenarios.
bool is_jobs_file(const std::string& path) {
  const Result<SourceText> text = read_text_file(path);
  const Result<Document> document = text ? parse_scenario(*text) : Result<Document>(text.diagnostics());
  return document && names_jobs(*document);
}

ExitStatus execute_jobs(const ParsedOptions& options, const Environment& environment) {
  for (const char* option : {"trace", "timeline", "iterations", "memory"}) {
    if (!options.has(option)) continue;
    environment.err << render(usage_error(std::string("--") + option + " is for scenarios, not for files of jobs"));
    return ExitStatus::wrong_usage;
  }
  if (options.arguments.size() > 1) {
    environment.err << render(usage_error("a file of jobs runs by itself", "name the others in runs of their own"));
    return ExitStatus::wrong_usage;
  }
  const Result<Overrides> overrides = overrides_of(options);
  const Result<std::unique_ptr<Executor>> executor = executor_of(options);
  if (!overrides || !executor) {
    environment.err << render(overrides.diagnostics()) << render(executor.diagnostics());
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  const Result<SourceText> text = read_text_file(options.arguments.front());
  const Result<JobsFile> jobs = text ? read_jobs(*text) : Result<JobsFile>(text.diagnostics());
  environment.err << render(jobs.diagnostics());
  if (!jobs) return ExitStatus::invalid;
  const Result<JobsResult> result = run_jobs(*jobs, *overrides, library, executor->get());
  environment.err << render(result.diagnostics());
  if (!result) return ExitStatus::invalid;
  const std::string format = options.value("format").value_or("table");
  environment.out << (format == "json" ? jobs_json(*result) : format == "csv" ? jobs_csv(*result) : jobs_table(*result));
  const bool fits = std::all_of(result->jobs.begin(), result->jobs.end(),
                                [](const JobResult& job) { return job.alone.metrics.memory.fits; });
  return !fits && options.has("require-fit") ? ExitStatus::invalid : ExitStatus::done;
}

ExitStatus execute(const ParsedOptions& options, const Environment& environment) {
  const std::optional<std::string> trace = options.value("trace");
  if (options.arguments.empty()) {
    environment.err << render(usage_error("takt run needs a scenario", "see takt run --help"));
    return ExitStatus::wrong_usage;
  }
  if (std::any_of(options.arguments.begin(), options.arguments.end(), is_jobs_file)) {
    return execute_jobs(options, environment);
  }
  const std::optional<std::string> timeline = options.value("timeline");
  if ((trace || timeline) && options.arguments.size() > 1) {
    environment.err << render(
        usage_error(std::string(trace ? "--trace" : "--timeline") + " is for one scenario at a time"));
    return ExitStatus::wrong_usage;
  }
  const ScenarioRuns runs = run_scenarios(options, environment, trace ? Rates::recorded : Rates::ignored);
  if (runs.finished.empty()) return runs.status;

  std::vector<RunResult> results;
  Library library(search_path(environment.takt_path));
  for (const FinishedRun& run : runs.finished) {
    RunResult& result = results.emplace_back(run.result);
    if (!result.metrics.memory.fits) result.fit_changes = changes_for(run, options, library);
  }
  environment.out << formatted(options, results, options.has("memory") ? tables_with_memory : tables);
  const FinishedRun& run = runs.finished.front();
  std::optional<Diagnostic> error;
  if (trace) error = write_file(*trace, chrome_trace(run.result, run.built.plan, *run.topology, run.timeline));
  if (timeline && !error) error = write_file(*timeline, timeline_svg(run.result, run.built.plan, run.timeline));
  if (error) {
    environment.err << render(*error);
    return ExitStatus::invalid;
  }
  return runs.status;
}

}  // namespace

Command run_command() {
  std::vector<Option> options = simulation_options();
  options.push_back({"iterations", "N", "measure the Nth step since the start (default: a steady one)", {}});
  options.push_back({"memory", "", "also memory over the step: peak of each phase, its parts, reserved memory", {}});
  options.push_back({"trace", "FILE", "write a trace of all ops for Perfetto (ui.perfetto.dev)", {}});
  options.push_back({"timeline", "FILE", "draw rank 0's streams as an SVG picture", {}});
  return {"run",
          "SCENARIO...",
          "step time, where it goes, links, memory",
          "Simulates one training step of each scenario and says how long it takes, where the time goes, how much "
          "communication hides behind compute, how busy the links are, and whether it fits in memory. A file with "
          "[[job]] entries runs several scenarios at the same time on one machine and says how much each slows down.",
          std::move(options),
          "takt run scenarios/llama-3.3-70b-lora-8x-rtx-pro-6000.toml --set batch.micro_batch=2",
          execute};
}

}  // namespace takt
