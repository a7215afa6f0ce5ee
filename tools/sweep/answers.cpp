#include "sweep/answers.hpp"

#include "sweep/sweep_rows.hpp"

#include <ostream>

namespace takt {
namespace {

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

}  // namespace

std::vector<Option> answer_option_list() {
  return {{"top", "N", "print the N best points", {}},
          {"by", "COLUMN", "what --top compares by, e.g. tokens_per_s_per_card", {}},
          {"pareto", "COLUMN,...", "print the points that no other beats in all of these", {}}};
}

Result<AnswerOptions> answer_options(const ParsedOptions& options, const std::vector<SweepColumn>& columns) {
  AnswerOptions answers;
  if (options.has("top") != options.has("by")) {
    return usage_error("--top and --by go together", "for example --top 10 --by tokens_per_s_per_card");
  }
  if (options.has("top")) {
    const Result<std::size_t> count = positive_number("top", *options.value("top"));
    if (!count) return count.diagnostics();
    answers.top = *count;
    answers.by = *options.value("by");
    const Result<Goal> goal = find_goal(columns, answers.by);
    if (!goal) return goal.diagnostics();
  }
  if (options.has("pareto")) {
    answers.pareto = split_at_commas(*options.value("pareto"));
    for (const std::string& name : answers.pareto) {
      const Result<Goal> goal = find_goal(columns, name);
      if (!goal) return goal.diagnostics();
    }
  }
  return answers;
}

ExitStatus answer(const AnswerOptions& options, const std::string& path, const Environment& environment) {
  if (options.top == 0 && options.pareto.empty()) return ExitStatus::done;
  const Result<std::unique_ptr<SweepRows>> rows = open_sweep_rows(path);
  if (!rows) {
    environment.err << render(rows.diagnostics());
    return ExitStatus::invalid;
  }
  const std::vector<SweepColumn> columns = columns_named((*rows)->columns());
  std::optional<TopRows> top;
  if (options.top > 0) top.emplace(columns, find_goal(columns, options.by).value(), options.top);
  std::vector<Goal> goals;
  for (const std::string& name : options.pareto) goals.push_back(find_goal(columns, name).value());
  std::optional<ParetoFront> front;
  if (!goals.empty()) front.emplace(columns, goals);
  for (SweepRow row; (*rows)->next(row);) {
    if (top) top->add(row.cells);
    if (front) front->add(row.cells);
  }
  if (top) environment.out << top->text();
  if (top && front) environment.out << '\n';
  if (front) environment.out << front->text();
  return ExitStatus::done;
}

}  // namespace takt
