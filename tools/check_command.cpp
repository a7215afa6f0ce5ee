#include "commands.hpp"
#include "report/report.hpp"
#include "scenario_runs.hpp"

#include <ostream>

namespace takt {
namespace {

ExitStatus print_keys(const ParsedOptions& options, const Environment& environment) {
  environment.out << key_reference(options.has("markdown") ? KeyFormat::markdown : KeyFormat::table);
  return ExitStatus::done;
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
    const Result<SourceText> source = read_text_file(file);
    const Result<PreparedRun> prepared =
        source ? prepare(*source, *overrides, library) : Result<PreparedRun>(source.diagnostics());
    environment.err << render(prepared.diagnostics());
    if (prepared) {
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
