// What we tell a user about their input: where, what is wrong and why, and what to do about it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace takt {

enum class Severity { note, warning, error };

/// A place in a text file. Lines and columns count from 1; line 0 means "the file as a whole".
struct SourcePlace {
  std::string file;         ///< path as the user named it, or "command line" for --set
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string line_text;    ///< the source line, for the caret; empty if there is none

  bool operator==(const SourcePlace&) const = default;
};

/// One message. The texts carry no trailing newline; `hint` may be empty.
struct Diagnostic {
  Severity severity = Severity::error;
  SourcePlace place;
  std::string message;  ///< the problem and the reason
  std::string hint;     ///< a suggestion

  bool operator==(const Diagnostic&) const = default;
};

using Diagnostics = std::vector<Diagnostic>;

bool has_error(const Diagnostics& diagnostics);

/// The message as the user sees it, ending in a newline:
///
///     scenarios/lora.toml:14:9: error: hybrid shard group of 6 does not divide 8 ranks
///        14 | group = 6
///           |         ^
///     hint: use 1, 2, 4 or 8
std::string render(const Diagnostic& diagnostic);
std::string render(const Diagnostics& diagnostics);

}  // namespace takt
