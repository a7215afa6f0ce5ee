// A subcommand of takt: what it is called, takes and does.
#pragma once

#include "options.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace takt {

/// Exit statuses of the command; scripts rely on them.
enum class ExitStatus : int {
  done = 0,
  invalid = 1,  ///< a scenario (or other input) is invalid, or does not fit with --require-fit
  wrong_usage = 2,
  internal_error = 3,
  interrupted = 130,  ///< Ctrl-C, as shells count it; what is written is valid
};

/// What a command sees of the world. Results go to `out`, messages to `err`.
struct Environment {
  std::ostream& out;
  std::ostream& err;
  const char* takt_path = nullptr;  ///< the variable TAKT_PATH, or null
  bool err_is_terminal = false;     ///< progress is shown on terminals only
};

struct Command {
  std::string name;         ///< one or two words: "run", "topo show"
  std::string arguments;    ///< "SCENARIO...", for the usage line
  std::string summary;      ///< one line
  std::string description;  ///< a paragraph
  std::vector<Option> options;
  std::string example;  ///< a whole command line
  ExitStatus (*run)(const ParsedOptions& options, const Environment& environment);
};

}  // namespace takt
