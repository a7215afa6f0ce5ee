#include "base/diagnostic.hpp"

#include <algorithm>
#include <string_view>

namespace takt {
namespace {

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "error";
}

/// Spaces up to the caret, with the tabs of the source line kept so that the caret stays under its character.
std::string caret_indent(const SourcePlace& place) {
  std::string indent;
  for (std::uint32_t column = 1; column < place.column; ++column) {
    const bool is_tab = column <= place.line_text.size() && place.line_text[column - 1] == '\t';
    indent += is_tab ? '\t' : ' ';
  }
  return indent;
}

}  // namespace

bool has_error(const Diagnostics& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::error; });
}

std::string render(const Diagnostic& diagnostic) {
  const SourcePlace& place = diagnostic.place;
  std::string text;
  if (!place.file.empty()) {
    text += place.file + ':';
    if (place.line > 0) text += std::to_string(place.line) + ':' + std::to_string(place.column) + ':';
    text += ' ';
  }
  text += std::string(name_of(diagnostic.severity)) + ": " + diagnostic.message + '\n';
  if (!place.line_text.empty()) {
    std::string number = place.line > 0 ? std::to_string(place.line) : "";  // a command line has none
    if (number.size() < 5) number.insert(0, 5 - number.size(), ' ');
    text += number + " | " + place.line_text + '\n';
    text += std::string(number.size(), ' ') + " | " + caret_indent(place) + "^\n";
  }
  if (!diagnostic.hint.empty()) text += "hint: " + diagnostic.hint + '\n';
  return text;
}

std::string render(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += render(diagnostic);
  return text;
}

}  // namespace takt
