// takt explain: why a step takes as long as it does, and how far that rests on assumptions.
#include "assumption_flips.hpp"
#include "commands.hpp"
#include "report/explanation.hpp"
#include "scenario_runs.hpp"

#include <ostream>
#include <utility>

namespace takt {
namespace {

constexpr double more = 1.1;  // 10 % more of a resource

ExplanationFormat format_of(const ParsedOptions& options) {
  const std::string format = options.value("format").value_or("table");
  if (format == "json") return ExplanationFormat::json;
  return format == "csv" ? ExplanationFormat::csv : ExplanationFormat::table;
}

/// The CPU is no resource of the engine: the scenario is planned again with shorter host times.
Result<Sensitivity> faster_host(const SourceText& source, Overrides overrides, const Assumptions& assumptions,
                                Library& library) {
  for (Override& item : host_times(assumptions, 1.0 / more)) overrides.push_back(std::move(item));
  const Result<FinishedRun> run = takt::run(source, overrides, library, {});
  if (!run) return run.diagnostics();
  return Sensitivity{"speed of the host", run->result.metrics.step_time};
}

ExitStatus explain_one(const SourceText& source, const Overrides& overrides, Library& library,
                       const ParsedOptions& options, const Environment& environment) {
  const Result<FinishedRun> run = takt::run(source, overrides, library, {});
  environment.err << render(run.diagnostics());
  if (!run) return ExitStatus::invalid;
  Result<std::vector<Sensitivity>> list = sensitivities(run->played(), run->topology.resources(), more);
  const Result<Sensitivity> host = faster_host(source, overrides, run->result.scenario.assumptions, library);
  if (!list || !host) {
    environment.err << render(list.diagnostics()) << render(host.diagnostics());
    return ExitStatus::invalid;
  }
  list->push_back(*host);
  environment.out << sensitivities_explained(run->result, *list, format_of(options));
  return ExitStatus::done;
}

ExitStatus execute(const ParsedOptions& options, const Environment& environment) {
  const bool flips = options.has("assumptions");
  if (options.arguments.empty() || (!flips && options.arguments.size() > 1)) {
    environment.err << render(usage_error(flips ? "takt explain --assumptions needs a scenario, or several to compare"
                                                : "takt explain needs one scenario",
                                          "see takt explain --help"));
    return ExitStatus::wrong_usage;
  }
  const Result<Overrides> overrides = overrides_of(options);
  if (!overrides) {
    environment.err << render(overrides.diagnostics());
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  std::vector<FlippedRun> flipped;
  for (const std::string& file : options.arguments) {
    const Result<SourceText> source = read_text_file(file);
    if (!source) {
      environment.err << render(source.diagnostics());
      return ExitStatus::invalid;
    }
    if (!flips) return explain_one(*source, *overrides, library, options, environment);
    Result<FlippedRun> run = flip_assumptions(*source, *overrides, library);
    environment.err << render(run.diagnostics());
    if (!run) return ExitStatus::invalid;
    flipped.push_back(std::move(*run));
  }
  environment.out << assumptions_explained(flipped, format_of(options));
  return ExitStatus::done;
}

}  // namespace

Command explain_command() {
  std::vector<Option> options = override_options();
  options.push_back({"format", "FORMAT", "how results are written (default table)", {"table", "json", "csv"}});
  options.push_back({"assumptions", "", "flip each assumption in turn and print what the step becomes", {}});
  return {"explain",
          "SCENARIO",
          "what a step waits for, what would speed it up, what it rests on",
          "Prints what the critical path of a step waits for and how the step changes with 10 % more of each resource. "
          "With --assumptions it changes each assumption in turn instead; with several scenarios it puts them side by "
          "side and says whether the comparison holds.",
          options,
          "takt explain --assumptions scenarios/llama-3.3-70b-lora-8x-rtx-pro-6000.toml",
          execute};
}

}  // namespace takt
