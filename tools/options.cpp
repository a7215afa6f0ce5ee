// The home of Boost.Program_options.
#include "options.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>

namespace takt {
namespace {

namespace po = boost::program_options;

constexpr const char* argument_option = "takt-argument";  // what has no dashes is collected under this name

po::options_description described(std::span<const Option> options) {
  po::options_description description;
  description.add_options()(argument_option, po::value<std::vector<std::string>>());
  for (const Option& option : options) {
    if (option.value.empty()) {
      description.add_options()(option.name.c_str(), "");
    } else {
      description.add_options()(option.name.c_str(), po::value<std::vector<std::string>>());
    }
  }
  return description;
}

Diagnostic unknown_option(const std::string& name, std::span<const Option> options) {
  std::vector<std::string> names;
  for (const Option& option : options) names.push_back("--" + option.name);
  const std::optional<std::string> near = did_you_mean(name, names);
  return usage_error("unknown option " + name, near ? "did you mean " + *near + "?" : "see --help");
}

const Option* find(std::span<const Option> options, const std::string& name) {
  const auto found = std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.name == name; });
  return found == options.end() ? nullptr : &*found;
}

/// What is wrong with the values of an option, if anything.
std::optional<Diagnostic> complaint(const Option& option, const std::vector<std::string>& values) {
  if (option.count == Option::Count::once && values.size() > 1) {
    return usage_error("--" + option.name + " is given twice");
  }
  for (const std::string& value : values) {
    if (option.choices.empty()) continue;
    if (std::find(option.choices.begin(), option.choices.end(), value) != option.choices.end()) continue;
    const std::optional<std::string> near = did_you_mean(value, option.choices);
    return usage_error("--" + option.name + " cannot be '" + value + "'",
                       near ? "did you mean " + *near + "?" : "use one of " + join(option.choices, ", "));
  }
  return std::nullopt;
}

Result<ParsedOptions> collect(const po::parsed_options& parsed, std::span<const Option> options) {
  ParsedOptions result;
  for (const po::option& word : parsed.options) {
    if (word.string_key == argument_option) {
      result.arguments.insert(result.arguments.end(), word.value.begin(), word.value.end());
    } else {
      std::vector<std::string>& values = result.values[word.string_key];
      values.insert(values.end(), word.value.begin(), word.value.end());
    }
  }
  for (const auto& [name, values] : result.values) {
    const Option* option = find(options, name);
    expects(option != nullptr, "the parser knows only declared options");
    if (std::optional<Diagnostic> error = complaint(*option, values)) return *error;
  }
  return result;
}

}  // namespace

std::optional<std::string> ParsedOptions::value(const std::string& option) const {
  const auto found = values.find(option);
  if (found == values.end() || found->second.empty()) return std::nullopt;
  return found->second.front();
}

std::vector<std::string> ParsedOptions::all(const std::string& option) const {
  const auto found = values.find(option);
  return found == values.end() ? std::vector<std::string>{} : found->second;
}

Result<ParsedOptions> parse_options(std::span<const Option> options, std::span<const std::string> words) {
  namespace style = po::command_line_style;
  constexpr int full_names_only = style::allow_long | style::long_allow_adjacent | style::long_allow_next;
  const po::options_description description = described(options);
  po::positional_options_description positions;
  positions.add(argument_option, -1);
  try {
    return collect(po::command_line_parser(std::vector<std::string>(words.begin(), words.end()))
                       .options(description)
                       .positional(positions)
                       .style(full_names_only)
                       .run(),
                   options);
  } catch (const po::unknown_option& error) {
    return unknown_option(error.get_option_name(), options);
  } catch (const po::invalid_command_line_syntax& error) {
    return usage_error(error.get_option_name() + " needs a value", "see --help");
  } catch (const po::error& error) {
    return usage_error(error.what(), "see --help");
  }
}

Result<std::size_t> positive_number(const std::string& option, const std::string& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number == 0) {
    return usage_error("--" + option + " cannot be '" + text + "'", "give a whole number from 1");
  }
  return number;
}

Diagnostic usage_error(std::string message, std::string hint) {
  return {Severity::error, {}, std::move(message), std::move(hint)};
}

}  // namespace takt
