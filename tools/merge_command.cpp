#include "commands.hpp"
#include "report/format.hpp"
#include "sweep/answers.hpp"
#include "sweep/sweep_rows.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <numeric>
#include <ostream>

namespace takt {
namespace {

Diagnostic about(const std::string& path, std::string message, std::string hint = "") {
  return {Severity::error, {path, 0, 0, {}}, std::move(message), std::move(hint)};
}

/// A part with the row that comes next from it.
struct Part {
  std::string path;
  std::unique_ptr<SweepRows> rows;
  SweepRow row;
  bool ended = false;

  std::int64_t number(std::size_t column) const { return std::get<std::int64_t>(row.cells[column].value); }
  std::int64_t point() const { return number(0); }
  std::int64_t points() const { return number(1); }

  void advance() { ended = !rows->next(row); }
};

Result<std::vector<Part>> open_parts(const std::vector<std::string>& paths) {
  std::vector<Part> parts;
  Diagnostics errors;
  for (const std::string& path : paths) {
    Result<std::unique_ptr<SweepRows>> rows = open_sweep_rows(path);
    if (!rows) {
      errors.insert(errors.end(), rows.diagnostics().begin(), rows.diagnostics().end());
      continue;
    }
    Part& part = parts.emplace_back();
    part.path = path;
    part.rows = std::move(*rows);
    part.advance();
    if (part.rows->columns() != parts.front().rows->columns()) {
      errors.push_back(about(path, "has other columns than " + parts.front().path, "parts belong to one sweep"));
    } else if (!part.ended && !parts.front().ended && part.points() != parts.front().points()) {
      errors.push_back(about(path, fmt::format("is of a sweep of {} points, {} of one of {}", part.points(),
                                               parts.front().path, parts.front().points())));
    } else if (part.rows->provenance() != parts.front().rows->provenance()) {
      errors.push_back(about(path, "comes from another sweep file or version than " + parts.front().path));
    }
  }
  if (!errors.empty()) return errors;
  return parts;
}

/// Joins rows in the order of their points; keeps which are missing.
class Joining {
 public:
  explicit Joining(std::vector<Part> parts) : parts_(std::move(parts)) {}

  /// Hands every row to `take`, each point once. Error: two rows of one point that differ.
  template <class Take>
  std::optional<Diagnostic> each(Take take) {
    while (Part* part = lowest()) {
      points_ = std::max(points_, part->points());
      for (; next_ < part->point(); ++next_) missing_.push_back(next_);
      const SweepRow row = part->row;
      ++next_;
      for (Part& other : parts_) {
        if (other.ended || other.point() >= next_) continue;
        if (other.row.cells != row.cells) {
          return about(other.path, fmt::format("point {} differs from the one of {}", next_ - 1, part->path));
        }
        other.advance();
      }
      if (std::optional<Diagnostic> error = take(row)) return error;
    }
    for (; next_ < points_; ++next_) missing_.push_back(next_);
    return std::nullopt;
  }

  const std::vector<std::int64_t>& missing() const { return missing_; }
  std::int64_t points() const { return points_; }

 private:
  Part* lowest() {
    Part* lowest = nullptr;
    for (Part& part : parts_) {
      if (!part.ended && (lowest == nullptr || part.point() < lowest->point())) lowest = &part;
    }
    return lowest;
  }

  std::vector<Part> parts_;
  std::vector<std::int64_t> missing_;
  std::int64_t next_ = 0, points_ = 0;
};

/// "2, 6, 10, ..., all of part 3/4". Points that are all of one part of some division say which part.
std::string missing_text(const std::vector<std::int64_t>& missing) {
  constexpr std::size_t most_named = 8;
  std::string text;
  for (std::size_t i = 0; i < missing.size() && i < most_named; ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(missing[i]);
  }
  if (missing.size() > most_named) text += ", ...";
  std::int64_t stride = 0;
  for (std::size_t i = 1; i < missing.size(); ++i) stride = std::gcd(stride, missing[i] - missing[i - 1]);
  if (stride > 1) text += fmt::format("; all of them of part {}/{}", missing.front() % stride + 1, stride);
  return text;
}

std::optional<Diagnostic> write(const std::vector<std::string>& paths, const std::string& out,
                                const std::vector<SweepColumn>& columns, const Provenance& provenance) {
  Result<std::vector<Part>> parts = open_parts(paths);
  if (!parts) return parts.diagnostics().front();
  const Result<std::unique_ptr<SweepOutput>> output = open_sweep_output(out, columns, provenance, Opening::create);
  if (!output) return output.diagnostics().front();
  Joining joining(std::move(*parts));
  const auto error = joining.each([&](const SweepRow& row) {
    SweepRow formatted = row;
    if (formatted.line.empty()) (*output)->format(formatted);
    return (*output)->append(formatted);
  });
  return error ? error : (*output)->flush();
}

ExitStatus refused(const Environment& environment, ExitStatus status, const Diagnostics& why) {
  environment.err << render(why);
  return status;
}

ExitStatus execute(const ParsedOptions& options, const Environment& environment) {
  if (options.arguments.empty() || !options.has("out")) {
    return refused(environment, ExitStatus::wrong_usage,
                   {usage_error("takt merge needs parts and --out FILE", "see takt merge --help")});
  }
  const std::string out = *options.value("out");
  for (const std::string& path : options.arguments) {
    if (std::filesystem::path(path).extension() == std::filesystem::path(out).extension()) continue;
    return refused(
        environment, ExitStatus::wrong_usage,
        {usage_error(path + " and " + out + " have different endings", "parts are joined in their own format")});
  }
  Result<std::vector<Part>> parts = open_parts(options.arguments);
  if (!parts) return refused(environment, ExitStatus::invalid, parts.diagnostics());
  const std::vector<SweepColumn> columns = columns_named(parts->front().rows->columns());
  const Provenance provenance = parts->front().rows->provenance();
  const Result<AnswerOptions> answers = answer_options(options, columns);
  if (!answers) return refused(environment, ExitStatus::wrong_usage, answers.diagnostics());

  // Once to see what is missing, once to write: the rows of a large sweep do not fit in memory.
  Joining looking(std::move(*parts));
  if (const auto error = looking.each([](const SweepRow&) { return std::optional<Diagnostic>(); })) {
    return refused(environment, ExitStatus::invalid, {*error});
  }
  if (!looking.missing().empty() || looking.points() == 0) {
    return refused(environment, ExitStatus::invalid,
                   {about(out,
                          fmt::format("not written: {} of {} points are missing: {}", looking.missing().size(),
                                      looking.points(), missing_text(looking.missing())),
                          "play the missing part, or continue one that was interrupted with --resume")});
  }
  if (const auto error = write(options.arguments, out, columns, provenance)) {
    return refused(environment, ExitStatus::invalid, {*error});
  }
  environment.err << fmt::format("{} points of {} parts joined in {}\n", format_count(looking.points()),
                                 options.arguments.size(), out);
  return answer(*answers, out, environment);
}

}  // namespace

Command merge_command() {
  std::vector<Option> options = {{"out", "FILE", "the joined file, in the parts' format", {}}};
  for (Option& option : answer_option_list()) options.push_back(std::move(option));
  return {"merge",
          "PART...",
          "join the parts of a sweep that several machines played",
          "Joins files that 'takt sweep --shard I/N' wrote into the file that one machine would have written, byte for "
          "byte. Names the points, and where they are all of one, the part, that is missing.",
          std::move(options),
          "takt merge part-*.csv --out points.csv",
          execute};
}

}  // namespace takt
