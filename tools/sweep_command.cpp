#include "commands.hpp"
#include "config/scenario_keys.hpp"
#include "report/format.hpp"
#include "report/report.hpp"
#include "scenario_runs.hpp"
#include "sweep/answers.hpp"
#include "sweep/interruption.hpp"
#include "sweep/sweep_run.hpp"

#include <fmt/format.h>
#include <ostream>
#include <thread>

namespace takt {
namespace {

constexpr std::uint64_t default_most_points = 100'000;

std::string points_text(std::uint64_t points) {
  return format_count(static_cast<std::int64_t>(points)) + (points == 1 ? " point" : " points");
}

/// What a database says of its rows. Nothing of it depends on the machine, the time or the part that is played.
Provenance provenance_of(const SweepDocument& sweep, const std::string& text) {
  Provenance provenance = {{"takt_version", takt_version()},
                           {"sweep_file", sweep.base.file},
                           {"sweep_text", text},
                           {"points", std::to_string(sweep.points)}};
  if (const Result<Scenario> first = sweep.scenario(0)) {
    const std::vector<std::string> axes = sweep.keys();
    for (const auto& [key, value] : scenario_keys().write(*first)) {
      if (std::find(axes.begin(), axes.end(), key) == axes.end()) provenance.emplace_back("key " + key, value);
    }
  }
  return provenance;
}

/// What the line asks for, checked.
struct SweepCall {
  SweepDocument sweep;
  std::string text;  ///< of the file
  std::string out;
  Shard shard;
  std::unique_ptr<Executor> executor;
  Opening opening = Opening::create;
};

struct Refused {
  ExitStatus status = ExitStatus::wrong_usage;
  Diagnostics why;
};

std::optional<Refused> read_options(const ParsedOptions& options, SweepCall& call) {
  const auto usage = [](Diagnostic said) { return Refused{ExitStatus::wrong_usage, {std::move(said)}}; };
  if (options.arguments.size() != 1) {
    return usage(usage_error("takt sweep needs one sweep file", "see takt sweep --help"));
  }
  if (!options.has("out"))
    return usage(usage_error("takt sweep needs --out FILE", "its ending says the format: .csv, .jsonl or .sqlite"));
  call.out = *options.value("out");
  if (options.has("resume")) call.opening = Opening::proceed;
  if (const auto text = options.value("shard")) {
    const Result<Shard> shard = parse_shard(*text);
    if (!shard) return Refused{ExitStatus::wrong_usage, shard.diagnostics()};
    call.shard = *shard;
  }
  std::size_t jobs = std::max(1U, std::thread::hardware_concurrency());
  if (const auto text = options.value("jobs")) {
    const Result<std::size_t> number = positive_number("jobs", *text);
    if (!number) return Refused{ExitStatus::wrong_usage, number.diagnostics()};
    jobs = *number;
  }
  call.executor = jobs == 1 ? make_serial_executor() : make_tbb_executor(jobs);
  return std::nullopt;
}

std::optional<Refused> read_sweep(const ParsedOptions& options, SweepCall& call) {
  const Result<Overrides> overrides = overrides_of(options);
  if (!overrides) return Refused{ExitStatus::wrong_usage, overrides.diagnostics()};
  const Result<SourceText> source = read_text_file(options.arguments.front());
  if (!source) return Refused{ExitStatus::invalid, source.diagnostics()};
  Result<SweepDocument> sweep = parse_sweep(*source, *overrides);
  if (!sweep) return Refused{ExitStatus::invalid, sweep.diagnostics()};
  std::size_t most = default_most_points;
  if (const auto text = options.value("max-points")) {
    const Result<std::size_t> number = positive_number("max-points", *text);
    if (!number) return Refused{ExitStatus::wrong_usage, number.diagnostics()};
    most = *number;
  }
  if (sweep->points > most) {
    return Refused{ExitStatus::invalid,
                   {{Severity::error,
                     {source->file, 0, 0, {}},
                     fmt::format("this sweep has {}, more than --max-points {}", points_text(sweep->points), most),
                     fmt::format("if all of them are meant: --max-points {}", sweep->points)}}};
  }
  call.text = source->text;
  call.sweep = std::move(*sweep);
  return std::nullopt;
}

/// "3 axes: batch.micro_batch (3), model.name and hardware.topology (2)".
std::string axes_text(const SweepDocument& sweep) {
  std::string text = fmt::format("{} ax{}s: ", sweep.axes.size(), sweep.axes.size() == 1 ? "i" : "e");
  for (const SweepAxis& axis : sweep.axes) {
    if (&axis != sweep.axes.data()) text += ", ";
    for (const SweepAxis::OneKey& one : axis.keys) text += (&one == axis.keys.data() ? "" : " with ") + one.key;
    text += fmt::format(" ({})", axis.size());
  }
  return text;
}

void announce(const SweepCall& call, std::uint64_t present, std::ostream& err) {
  const std::uint64_t points = call.shard.size(call.sweep.points);
  err << points_text(points);
  if (call.shard.parts > 1) {
    err << fmt::format(" of {} (part {}/{})", format_count(static_cast<std::int64_t>(call.sweep.points)),
                       call.shard.part, call.shard.parts);
  }
  err << "; " << axes_text(call.sweep);
  if (present > 0) err << fmt::format("; {} done before", format_count(static_cast<std::int64_t>(present)));
  err << '\n';
}

void summarise(const SweepCounts& counts, const SweepCall& call, double seconds, double rate, std::ostream& err) {
  err << fmt::format("{} in {}, {} a second: {} ok", points_text(counts.all()),
                     format_time(duration_from_seconds(seconds)), format_number(rate), counts.ok);
  if (counts.unfit > 0) err << fmt::format(", {} do not fit", counts.unfit);
  if (counts.failed > 0) err << fmt::format(", {} failed", counts.failed);
  err << "; rows in " << call.out << '\n';
  if (counts.failed > 0) err << "the first that failed: " << counts.first_error << '\n';
}

ExitStatus play(SweepCall& call, SweepOutput& output, const Environment& environment) {
  if (const auto error = check_present(call.sweep, call.shard, output, *call.executor, call.out)) {
    environment.err << render(*error);
    return ExitStatus::invalid;
  }
  const std::uint64_t present = output.present().size(), points = call.shard.size(call.sweep.points);
  announce(call, present, environment.err);
  Library library(search_path(environment.takt_path));
  SharedParts parts(library);
  const Interruption interruption;
  SweepCounts counts;
  double seconds = 0.0, rate = 0.0;
  {
    Progress progress(environment.err, environment.err_is_terminal ? Terminal::yes : Terminal::no, points, present);
    counts = run_sweep(call.sweep, parts, output, *call.executor, progress,
                       {call.shard, present, [&] { return interruption.requested(); }});
    seconds = progress.seconds();
    rate = progress.rate();
  }
  if (counts.broken) {
    environment.err << render(*counts.broken);
    return ExitStatus::invalid;
  }
  if (present < points) summarise(counts, call, seconds, rate, environment.err);
  if (present + counts.all() < points) {
    environment.err << fmt::format("interrupted with {} to go; the same command with --resume continues\n",
                                   points_text(points - present - counts.all()));
    return ExitStatus::interrupted;
  }
  const bool nothing_worked = present == 0 && counts.failed > 0 && counts.failed == counts.all();
  return nothing_worked ? ExitStatus::invalid : ExitStatus::done;
}

ExitStatus execute(const ParsedOptions& options, const Environment& environment) {
  SweepCall call;
  std::optional<Refused> refused = read_options(options, call);
  if (!refused) refused = read_sweep(options, call);
  Result<AnswerOptions> answers = answer_options(options, sweep_columns(call.sweep.keys()));
  if (!refused && !answers) refused = Refused{ExitStatus::wrong_usage, answers.diagnostics()};
  if (refused) {
    environment.err << render(refused->why);
    return refused->status;
  }
  {
    const Result<std::unique_ptr<SweepOutput>> output = open_sweep_output(
        call.out, sweep_columns(call.sweep.keys()), provenance_of(call.sweep, call.text), call.opening);
    if (!output) {
      environment.err << render(output.diagnostics());
      return ExitStatus::invalid;
    }
    const ExitStatus status = play(call, **output, environment);
    if (status != ExitStatus::done) return status;
  }
  return answer(*answers, call.out, environment);
}

}  // namespace

Command sweep_command() {
  std::vector<Option> options = {
      {"out", "FILE", "where the rows go: .csv, .jsonl (JSON lines) or .sqlite", {}},
      {"set", "KEY=VALUE", "override a key; a list of values adds an axis", {}, Option::Count::repeated},
      {"jobs", "N", "points played at once (default: the machine's cores); rows do not depend on it", {}},
      {"resume", "", "continue the file of an earlier, interrupted call", {}},
      {"max-points", "N", "refuse a sweep with more points (default 100000)", {}},
      {"shard", "I/N", "play only the I-th of N parts, for N machines; takt merge joins them", {}}};
  for (Option& option : answer_option_list()) options.push_back(std::move(option));
  return {"sweep",
          "SWEEP",
          "all points of a sweep into a table",
          "Simulates every combination of the values that the [sweep] section of a file (or --set KEY=[...]) gives to "
          "keys, several at once, and writes one row a point, in the order of the file. Ctrl-C leaves a valid file, "
          "which --resume continues. Rows are the same for any number of jobs, resumed or not.",
          std::move(options),
          "takt sweep scenarios/sweeps/bridge-or-pcie.toml --out points.csv --top 10 --by tokens_per_s_per_card",
          execute};
}

}  // namespace takt
