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

Result<ValidatedPart> collectives_part(const ValidationRows& rows, Library& library, LeaveOut left_out) {
  const Result<std::vector<CollectiveOutcome>> outcomes = validate_collectives(rows, library, left_out);
  if (!outcomes) return outcomes.diagnostics();
  std::vector<std::string> left;
  if (!rows.table) left = broken_bounds(*outcomes);
  return ValidatedPart{collective_validation_text(*outcomes), std::move(left), collective_rows_csv(*outcomes)};
}

Result<ValidatedPart> validate_as_they_are(const ValidationRows& rows, Library& library) {
  return collectives_part(rows, library, LeaveOut::nothing);
}

Result<ValidatedPart> validate_left_out(const ValidationRows& rows, Library& library) {
  return collectives_part(rows, library, LeaveOut::each_machine);
}

/// Also writes the files that --plot and --write-scenarios name.
Result<ValidatedPart> steps_part(const ParsedOptions& options, const ValidationRows& rows, Library& library) {
  Refit refit = options.has("constants") ? Refit::to_all_rows : Refit::no;
  if (options.has("leave-one-out")) refit = Refit::without_each;
  const Result<StepReport> report = validate_steps(rows.folder, rows.table, library, refit);
  if (!report) return report.diagnostics();
  std::optional<Diagnostic> failed;
  if (options.has("plot") && report->outcomes.empty())
    return usage_error("no row is scored: there is nothing to draw", "leave the excluded column of a row empty");
  if (const auto file = options.value("plot")) failed = write_file(*file, step_scatter_svg(report->outcomes));
  if (const auto into = options.value("write-scenarios"); into && !failed)
    failed = write_step_scenarios(rows.folder, rows.table, *into);
  if (failed) return *failed;
  std::vector<std::string> left;
  if (!rows.table) left = left_step_bounds(*report);
  return ValidatedPart{step_validation_text(*report), std::move(left), step_rows_csv(*report)};
}

struct Part {
  const char* option;
  const char* folder;
  std::function<Result<ValidatedPart>(const ValidationRows& rows, Library& library)> validated;
};

/// The parts that are asked for, in the order in which they are printed.
std::vector<Part> asked_parts(const ParsedOptions& options) {
  const std::vector<Part> all = {
      {"links", "links", validate_links},
      {"kernels", "kernels", validate_kernels},
      {"collectives", "collectives", options.has("leave-one-out") ? validate_left_out : validate_as_they_are},
      {"overlap", "overlap", validate_overlap},
      {"memory", "memory", validate_memory},
      {"steps", "steps", [&options](const ValidationRows& rows, Library& library) {
         return steps_part(options, rows, library);
       }}};
  std::vector<Part> asked;
  std::copy_if(all.begin(), all.end(), std::back_inserter(asked),
               [&options](const Part& part) { return options.has(part.option); });
  return asked;
}

/// What is wrong with the options together.
std::optional<Diagnostic> wrong_options(const ParsedOptions& options, const std::vector<Part>& parts) {
  const std::string kinds = "--links, --kernels, --collectives, --overlap, --memory or --steps";
  if (parts.empty() || !options.arguments.empty())
    return usage_error("validate what?", kinds + ", or several of them; see takt validate --help");
  for (const char* option : {"csv", "table"}) {
    if (options.has(option) && parts.size() > 1)
      return usage_error(std::string("--") + option + " names one file, but several kinds of rows are asked for",
                         std::string("one at a time: takt validate --") + parts.front().option + " --" + option +
                             " FILE");
  }
  if (options.has("leave-one-out") && !options.has("collectives") && !options.has("steps"))
    return usage_error("--leave-one-out is of --collectives and --steps", "add one of them");
  for (const char* option : {"constants", "plot", "write-scenarios"}) {
    if (options.has(option) && !options.has("steps"))
      return usage_error(std::string("--") + option + " is of --steps", "add --steps");
  }
  return std::nullopt;
}

ExitStatus validate(const ParsedOptions& options, const Environment& environment) {
  const std::vector<Part> parts = asked_parts(options);
  if (const std::optional<Diagnostic> wrong = wrong_options(options, parts)) {
    environment.err << render(*wrong);
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  const std::string folder = search_path(environment.takt_path).folders.back() + "/validation/";
  ExitStatus status = ExitStatus::done;
  for (const Part& part : parts) {
    const Result<ValidatedPart> outcome = part.validated({folder + part.folder, options.value("table")}, library);
    environment.err << render(outcome.diagnostics());
    if (!outcome) return ExitStatus::invalid;
    environment.out << (&part == &parts.front() ? "" : "\n") << outcome->text;
    for (const std::string& left : outcome->left_bounds) {
      environment.err << "a recorded bound is left: " << left << '\n';
      status = ExitStatus::invalid;
    }
    if (!options.has("csv")) continue;
    if (const std::optional<Diagnostic> failed = write_file(*options.value("csv"), outcome->csv)) {
      environment.err << render(*failed);
      return ExitStatus::invalid;
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
      "published training steps of validation/steps. Exit status 1 if a summary leaves its recorded bound. "
      "--table takes your own rows in the columns of validation/links/cases.csv (server: a topology), kernels/gemm.csv or of measure.py, "
      "collectives/rows.csv (machine: a topology), overlap/cases.csv or overlap/runs.csv, memory/rows.csv and "
      "steps/rows.csv (machine: a topology; stack: keys).",
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
       {"constants", "", "with --steps: what each fitted constant rests on: the rows whose step it moves; and a fit to all rows", {}},
       {"csv", "FILE", "write every row of the one kind asked for: measured, predicted, error, what excluded it", {}},
       {"table", "FILE", "score these rows of the one kind asked for, in the columns of its own file (see below)", {}},
       {"plot", "FILE", "with --steps: draw predicted against measured as an SVG picture", {}},
       {"write-scenarios", "DIR", "with --steps: write each row's scenario, which takt run takes", {}}},
      "takt validate --links",
      validate};
}

}  // namespace takt
