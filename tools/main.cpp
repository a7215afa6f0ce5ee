// The takt command. Exceptions that arrive here are faults of Takt, never of the user.
#include "command_line.hpp"

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  takt::ExitStatus status = takt::ExitStatus::internal_error;
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    status =
        takt::run_command_line(words, {std::cout, std::cerr, std::getenv("TAKT_PATH"), ::isatty(STDERR_FILENO) == 1});
    std::cout.flush();
    if (!std::cout) {
      std::cerr << "error: cannot write the results\n";
      status = takt::ExitStatus::invalid;
    }
  } catch (const std::exception& error) {
    std::cerr << "internal error: " << error.what()
              << "\nThis is a fault of Takt: please report it with the command line.\n";
  }
  return static_cast<int>(status);
}
