// --top, --by and --pareto: what commands that have a file of rows say about it.
#pragma once

#include "command.hpp"
#include "report/sweep_answers.hpp"

#include <optional>
#include <string>
#include <vector>

namespace takt {

struct AnswerOptions {
  std::size_t top = 0;  ///< 0: no such table
  std::string by;
  std::vector<std::string> pareto;  ///< empty: no such table
};

std::vector<Option> answer_option_list();

/// Error: --top without --by or the reverse, a column that is no number to compare by.
Result<AnswerOptions> answer_options(const ParsedOptions& options, const std::vector<SweepColumn>& columns);

/// Reads the rows of `path` and prints the tables that were asked for.
ExitStatus answer(const AnswerOptions& options, const std::string& path, const Environment& environment);

}  // namespace takt
