#include "command_line.hpp"

#include "base/text.hpp"
#include "commands.hpp"
#include "report/report.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <ostream>

namespace takt {
namespace {

const Option help_option = {"help", "", "this text", {}};

std::vector<Option> with_help(const Command& command) {
  std::vector<Option> options = command.options;
  options.push_back(help_option);
  return options;
}

std::size_t word_count(const std::string& name) {
  return 1 + static_cast<std::size_t>(std::count(name.begin(), name.end(), ' '));
}

/// The command whose name the line starts with, or null.
const Command* find_command(std::span<const std::string> words) {
  for (const Command& command : commands()) {
    const std::size_t count = word_count(command.name);
    if (words.size() >= count && join(words.first(count), " ") == command.name) return &command;
  }
  return nullptr;
}

/// The first word may begin two-word commands ("topo"): then the second is what is unknown.
Diagnostic unknown_command(std::span<const std::string> words) {
  std::vector<std::string> names, seconds;
  for (const Command& command : commands()) {
    names.push_back(command.name);
    const std::string group = words.front() + ' ';
    if (command.name.starts_with(group)) seconds.push_back(command.name.substr(group.size()));
  }
  if (!seconds.empty() && words.size() == 1) {
    return usage_error("'takt " + words.front() + "' needs one of: " + join(seconds, ", "));
  }
  const std::string given = seconds.empty() ? words.front() : words[0] + ' ' + words[1];
  const std::optional<std::string> near = did_you_mean(given, names);
  return usage_error("unknown command '" + given + "'",
                     near ? "did you mean 'takt " + *near + "'?" : "see takt --help");
}

ExitStatus wrong_usage(const Environment& environment, const Diagnostics& errors) {
  environment.err << render(errors);
  return ExitStatus::wrong_usage;
}

std::string usage_line(const Command& command) {
  return "usage: takt " + command.name + (command.arguments.empty() ? "" : ' ' + command.arguments) + " [options]\n";
}

}  // namespace

std::string general_help(std::span<const Command> commands) {
  Table table({{""}, {""}});
  for (const Command& command : commands) {
    table.row({"takt " + command.name + (command.arguments.empty() ? "" : ' ' + command.arguments), command.summary});
  }
  return "Takt simulates one step of distributed fine-tuning on a machine described by a file.\n\n" + table.text(2) +
         "\nEvery command has --help with an example. 'takt --version' prints the version.\n"
         "TAKT_PATH adds folders to search for models and topologies (colon-separated).\n"
         "Exit status: 0 done, 1 invalid input or no fit with --require-fit, 2 wrong usage, 3 internal error,\n"
         "130 interrupted by Ctrl-C.\n";
}

std::string command_help(const Command& command) {
  Table table({{""}, {""}});
  for (const Option& option : with_help(command)) {
    std::string meaning = option.meaning;
    if (option.count == Option::Count::repeated) meaning += "; may be repeated";
    const std::string value = option.choices.empty() ? option.value : join(option.choices, "|");
    table.row({"--" + option.name + (value.empty() ? "" : ' ' + value), meaning});
  }
  return usage_line(command) + '\n' + wrap(command.description, screen_width) + "\noptions\n" + table.text(2) +
         "\nexample\n  " + command.example + '\n';
}

ExitStatus run_command_line(std::span<const std::string> words, const Environment& environment) {
  if (words.empty()) {
    environment.err << general_help(commands());
    return ExitStatus::wrong_usage;
  }
  if (words.front() == "--help" || words.front() == "help") {
    environment.out << general_help(commands());
    return ExitStatus::done;
  }
  if (words.front() == "--version") {
    environment.out << "takt " << takt_version() << '\n';
    return ExitStatus::done;
  }
  const Command* command = find_command(words);
  if (command == nullptr) return wrong_usage(environment, {unknown_command(words)});

  const std::vector<Option> options = with_help(*command);
  const Result<ParsedOptions> parsed = parse_options(options, words.subspan(word_count(command->name)));
  if (!parsed) return wrong_usage(environment, parsed.diagnostics());
  if (parsed->has(help_option.name)) {
    environment.out << command_help(*command);
    return ExitStatus::done;
  }
  return command->run(*parsed, environment);
}

}  // namespace takt
