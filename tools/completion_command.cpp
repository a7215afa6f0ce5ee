// A bash completion script, written from the table of commands.
#include "base/text.hpp"
#include "commands.hpp"

#include <ostream>
#include <set>

namespace takt {
namespace {

std::string first_word(const std::string& name) {
  return name.substr(0, name.find(' '));
}

/// "run compare topo": the words that may follow `takt`.
std::string first_words() {
  std::vector<std::string> words;
  for (const Command& command : commands()) {
    const std::string word = first_word(command.name);
    if (words.empty() || words.back() != word) words.push_back(word);
  }
  return join(words, " ");
}

std::string option_words(const Command& command) {
  std::string words = "--help";
  for (const Option& option : command.options) words += " --" + option.name;
  return words;
}

std::string choice_cases() {
  std::set<std::string> lines;  // options of one name have the same choices in every command
  for (const Command& command : commands()) {
    for (const Option& option : command.options) {
      if (option.choices.empty()) continue;
      lines.insert("    --" + option.name + ") COMPREPLY=($(compgen -W \"" + join(option.choices, " ") +
                   "\" -- \"$word\")); return ;;\n");
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

std::string script() {
  std::string options, seconds;
  for (const Command& command : commands()) {
    options += "    \"" + command.name + "\"*) options=\"" + option_words(command) + "\" ;;\n";
    const std::size_t space = command.name.find(' ');
    if (space != std::string::npos) seconds += ' ' + command.name.substr(space + 1);
  }
  return "# bash completion of takt; use: source <(takt completion bash)\n"
         "_takt() {\n"
         "  local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" options=\"\"\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         first_words() +
         " --help --version\" -- \"$word\")); return\n"
         "  fi\n"
         "  case \"$before\" in\n" +
         choice_cases() + "    topo) COMPREPLY=($(compgen -W \"" + std::string(trim(seconds)) +
         "\" -- \"$word\")); return ;;\n"
         "    completion) COMPREPLY=($(compgen -W \"bash\" -- \"$word\")); return ;;\n"
         "  esac\n"
         "  case \"${COMP_WORDS[*]:1}\" in\n" +
         options +
         "  esac\n"
         "  if [[ \"$word\" == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _takt takt\n";
}

ExitStatus execute(const ParsedOptions& options, const Environment& environment) {
  if (options.arguments != std::vector<std::string>{"bash"}) {
    environment.err << render(usage_error("takt completion knows one shell: bash"));
    return ExitStatus::wrong_usage;
  }
  environment.out << script();
  return ExitStatus::done;
}

}  // namespace

Command completion_command() {
  return {"completion",
          "bash",
          "a completion script for the shell",
          "Prints a script that completes commands, options and their values in bash.",
          {},
          "source <(takt completion bash)",
          execute};
}

}  // namespace takt
