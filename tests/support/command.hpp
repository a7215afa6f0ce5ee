// The takt command as a test types it, without a process.
#pragma once

#include "command_line.hpp"

#include <sstream>
#include <string>
#include <vector>

namespace takt::test {

struct Outcome {
  ExitStatus status = ExitStatus::done;
  std::string out;
  std::string err;
};

inline Outcome takt_command(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  const ExitStatus status = run_command_line(words, {out, err});
  return {status, out.str(), err.str()};
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace takt::test
