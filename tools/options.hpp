// Options of a command line. options.cpp is the home of Boost.Program_options.
#pragma once

#include "base/result.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace takt {

/// An option as a command declares it.
struct Option {
  enum class Count { once, repeated };

  std::string name;   ///< "format", without dashes
  std::string value;  ///< "FILE"; empty: a flag without a value
  std::string meaning;
  std::vector<std::string> choices;  ///< the values that it may have; empty: any
  Count count = Count::once;
};

class ParsedOptions {
 public:
  /// What stands on the line besides options.
  std::vector<std::string> arguments;
  std::map<std::string, std::vector<std::string>> values;

  bool has(const std::string& option) const { return values.count(option) > 0; }
  std::optional<std::string> value(const std::string& option) const;
  std::vector<std::string> all(const std::string& option) const;
};

/// Errors: an unknown option (did you mean?), a missing value, a value that is not among the choices.
Result<ParsedOptions> parse_options(std::span<const Option> options, std::span<const std::string> words);

/// A positive whole number, or an error that names the option.
Result<std::size_t> positive_number(const std::string& option, const std::string& text);

/// A message about the command line as a whole.
Diagnostic usage_error(std::string message, std::string hint = "");

}  // namespace takt
