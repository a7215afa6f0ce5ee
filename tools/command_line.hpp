// From the words of a command line to the subcommand that it names.
#pragma once

#include "command.hpp"

#include <span>
#include <string>

namespace takt {

/// Runs `words` (without the program's name). Exceptions are our own faults and pass through.
ExitStatus run_command_line(std::span<const std::string> words, const Environment& environment);

/// `takt --help`, and `takt COMMAND --help`.
std::string general_help(std::span<const Command> commands);
std::string command_help(const Command& command);

}  // namespace takt
