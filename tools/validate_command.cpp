// takt validate: what was measured against what Takt predicts.
#include "commands.hpp"
#include "output_file.hpp"
#include "report/step_scatter.hpp"
#include "validate_collectives.hpp"
#include "validate_steps.hpp"
#include "validation.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <ostream>

namespace takt {
namespace {

Result<ValidatedPart> collectives_part(const std::string& folder, Library& library, LeaveOut left_out) {
  const Result<std::vector<CollectiveOutcome>> outcomes = validate_collectives(folder, library, left_out);
  if (!outcomes) return outcomes.diagnostics();
  return ValidatedPart{collective_validation_text(*outcomes), broken_bounds(*outcomes)};
}

Result<ValidatedPart> validate_as_they_are(const std::string& folder, Library& library) {
  return collectives_part(folder, library, LeaveOut::nothing);
}

Result<ValidatedPart> validate_left_out(const std::string& folder, Library& library) {
  return collectives_part(folder, library, LeaveOut::each_machine);
}

/// Also writes the files that --csv and --write-scenarios name.
Result<ValidatedPart> steps_part(const ParsedOptions& options, const std::string& folder, Library& library) {
  const Refit refit = options.has("leave-one-out") ? Refit::without_each_publisher : Refit::no;
  const std::optional<std::string> table = options.value("table");
  const Result<StepReport> report = validate_steps(folder, table, library, refit);
  if (!report) return report.diagnostics();
  std::optional<Diagnostic> failed;
  if (const auto file = options.value("csv")) failed = write_file(*file, step_rows_csv(report->outcomes));
  if (const auto file = options.value("plot"); file && !failed)
    failed = write_file(*file, step_scatter_svg(report->outcomes));
  if (const auto into = options.value("write-scenarios"); into && !failed) failed = write_step_scenarios(folder, *into);
  if (failed) return *failed;
  // Bounds are recorded for the project's own rows.
  return ValidatedPart{step_validation_text(*report), table ? std::vector<std::string>() : left_step_bounds(report->outcomes)};
}

struct Part {
  const char* option;
  const char* folder;
  std::function<Result<ValidatedPart>(const std::string& folder, Library& library)> validated;
};

/// The parts that are asked for, in the order in which they are printed.
std::vector<Part> asked_parts(const ParsedOptions& options) {
  const std::vector<Part> all = {
      {"links", "links", validate_links},
      {"kernels", "kernels", validate_kernels},
      {"collectives", "collectives", options.has("leave-one-out") ? validate_left_out : validate_as_they_are},
      {"overlap", "overlap", validate_overlap},
      {"memory", "memory", validate_memory},
      {"steps", "steps", [&options](const std::string& folder, Library& library) {
         return steps_part(options, folder, library);
       }}};
  std::vector<Part> asked;
  std::copy_if(all.begin(), all.end(), std::back_inserter(asked),
               [&options](const Part& part) { return options.has(part.option); });
  return asked;
}

ExitStatus validate(const ParsedOptions& options, const Environment& environment) {
  const std::vector<Part> parts = asked_parts(options);
  const bool idle_option =
      (options.has("leave-one-out") && !options.has("collectives") && !options.has("steps")) ||
      (!options.has("steps") && (options.has("csv") || options.has("table") || options.has("plot") || options.has("write-scenarios")));
  if (parts.empty() || idle_option || !options.arguments.empty()) {
    environment.err << render(usage_error(
        "validate what?", "--links, --kernels, --collectives [--leave-one-out], --overlap, --memory, or several of them; "
                          "--steps [--leave-one-out] [--csv FILE] [--table FILE] [--plot FILE] [--write-scenarios DIR]"));
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  const std::string folder = search_path(environment.takt_path).folders.back() + "/validation/";
  ExitStatus status = ExitStatus::done;
  for (const Part& part : parts) {
    const Result<ValidatedPart> outcome = part.validated(folder + part.folder, library);
    environment.err << render(outcome.diagnostics());
    if (!outcome) return ExitStatus::invalid;
    environment.out << (&part == &parts.front() ? "" : "\n") << outcome->text;
    for (const std::string& left : outcome->left_bounds) {
      environment.err << "a recorded bound is left: " << left << '\n';
      status = ExitStatus::invalid;
    }
  }
  return status;
}

}  // namespace

Command validate_command() {
  return {
      "validate",
      "",
      "what was measured against what Takt predicts",
      "Predicts published measurements and prints the errors. --links: copies and posted writes between cards, alone "
      "and several at once, on machines of validation/links; reads and collapses are listed as not modelled. "
      "--kernels: matrix products, refitted without what is scored. --collectives: nccl-tests and alike on machines of "
      "validation/collectives. --overlap: what kernels keep while thread blocks hold SMs or copies use the memory, and "
      "how much communication published steps hide. --memory: peaks of allocated memory that published steps show. --steps: "
      "published training steps of validation/steps. Exit status 1 if a summary leaves its recorded bound.",
      {{"links", "", "transfers between cards (p2pBandwidthLatencyTest and contention tables)", {}},
       {"kernels", "", "matrix products on four cards", {}},
       {"collectives", "", "all-gathers, reduce-scatters and all-reduces, by table and class", {}},
       {"leave-one-out",
        "",
        "with --collectives and --steps: also with constants fitted without each machine or publisher in turn",
        {}},
       {"memory", "", "peaks of allocated memory, by publisher; reserved memory as ranges", {}},
       {"overlap", "", "kernels beside communication, and communication that steps hide", {}},
       {"steps", "", "whole training steps, by publisher, family, machine and method", {}},
       {"csv", "FILE", "with --steps: write each row with its prediction", {}},
       {"table", "FILE", "with --steps: score these rows, in the columns of validation/steps/rows.csv", {}},
       {"plot", "FILE", "with --steps: draw predicted against measured as an SVG picture", {}},
       {"write-scenarios", "DIR", "with --steps: write each row's scenario, which takt run takes", {}}},
      "takt validate --links",
      validate};
}

}  // namespace takt
