#include "commands.hpp"
#include "config/jobs.hpp"
#include "config/scenario_document.hpp"
#include "jobs_run.hpp"
#include "report/report.hpp"
#include "scenario_runs.hpp"

#include <ostream>

namespace takt {
namespace {

ExitStatus print_keys(const ParsedOptions& options, const Environment& environment) {
  environment.out << key_reference(options.has("markdown") ? KeyFormat::markdown : KeyFormat::table);
  return ExitStatus::done;
}

/// What is to be said about a scenario or a file of jobs.
Diagnostics check_file(const std::string& file, const Overrides& overrides, Library& library) {
  const Result<SourceText> source = read_text_file(file);
  if (!source) return source.diagnostics();
  const Result<Document> document = parse_scenario(*source);
  if (!document || !names_jobs(*document)) return prepare(*source, overrides, library).diagnostics();
  const Result<JobsFile> jobs = read_jobs(*source);
  return jobs ? check_jobs(*jobs, overrides, library) : jobs.diagnostics();
}

ExitStatus check_files(const ParsedOptions& options, const Environment& environment) {
  const Result<Overrides> overrides = overrides_of(options);
  if (!overrides) {
    environment.err << render(overrides.diagnostics());
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  ExitStatus status = ExitStatus::done;
  for (const std::string& file : options.arguments) {
    const Diagnostics said = check_file(file, *overrides, library);
    environment.err << render(said);
    if (!has_error(said)) {
      environment.out << file << ": ok\n";
    } else {
      status = ExitStatus::invalid;
    }
  }
  return status;
}

ExitStatus execute(const ParsedOptions& options, const Environment& environment) {
  if (options.has("keys")) return print_keys(options, environment);
  if (options.arguments.empty()) {
    environment.err << render(usage_error("takt check needs a scenario, or --keys", "see takt check --help"));
    return ExitStatus::wrong_usage;
  }
  return check_files(options, environment);
}

}  // namespace

Command check_command() {
  std::vector<Option> options = override_options();
  options.push_back({"keys", "", "print every key of every kind of file instead", {}});
  options.push_back({"markdown", "", "with --keys: as Markdown", {}});
  return {"check",
          "SCENARIO...",
          "read and cross-check scenarios without simulating",
          "Reads each scenario with its model and topology, checks all of it and builds the plan, but simulates "
          "nothing. --keys prints the reference of all keys.",
          std::move(options),
          "takt check scenarios/*.toml",
          execute};
}

}  // namespace takt
