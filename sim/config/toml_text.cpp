#include "config/toml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

// Debian's shared library holds the variant of toml++ that throws; we want the one that returns errors.
#undef TOML_SHARED_LIB
#undef TOML_HEADER_ONLY
// toml++ 3.3 asserts on "[0, }]", and with NDEBUG lets the compiler assume that it never sees that. Without both it goes
// on to its own error, which is what we want.
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "base/text.hpp"

namespace takt {
namespace {

/// Turns toml++ nodes into ours and gives each its place.
class Converter {
 public:
  explicit Converter(const SourceText& source) : file_(source.file) {
    std::string_view rest = source.text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      lines_.push_back(line);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

  SourcePlace place(const toml::source_position& position) const {
    SourcePlace place{file_, position.line, position.column, {}};
    if (position.line >= 1 && position.line <= lines_.size()) place.line_text = lines_[position.line - 1];
    return place;
  }

  Node node(const toml::node& from) {
    Node to{false, place(from.source().begin)};
    switch (from.type()) {
      case toml::node_type::boolean: to.value = from.as_boolean()->get(); break;
      case toml::node_type::integer: to.value = from.as_integer()->get(); break;
      case toml::node_type::floating_point: to.value = from.as_floating_point()->get(); break;
      case toml::node_type::string: to.value = from.as_string()->get(); break;
      case toml::node_type::array: to.value = array(*from.as_array()); break;
      case toml::node_type::table: to.value = table(*from.as_table()); break;
      default:
        diagnostics_.push_back({Severity::error, to.place, "dates and times have no meaning here",
                                "put the value in quotes if it is meant as text"});
    }
    return to;
  }

  Diagnostics take_diagnostics() { return std::move(diagnostics_); }

 private:
  Node::Array array(const toml::array& from) {
    Node::Array to;
    to.reserve(from.size());
    for (const toml::node& item : from) to.push_back(node(item));
    return to;
  }

  Node::Table table(const toml::table& from) {
    Node::Table to;
    to.reserve(from.size());
    for (const auto& [key, value] : from) {
      to.push_back({std::string(key.str()), place(key.source().begin), node(value)});
    }
    return to;
  }

  std::string file_;
  std::vector<std::string_view> lines_;
  Diagnostics diagnostics_;
};

/// Whether a line reads `key = value` with a value that begins like bare text or like a quantity: the usual slip.
bool has_unquoted_value(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return false;
  std::string_view value = trim(line.substr(equals + 1));
  value = trim(value.substr(0, value.find('#')));
  if (value.empty() || value == "true" || value == "false") return false;
  const bool letters = value.find_first_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos;
  return letters && value.find_first_of("\"'[]{}") == std::string_view::npos;
}

Diagnostic syntax_error(const toml::parse_error& error, const Converter& converter) {
  // toml++ says "Error while parsing X: reason"; only the reason is news beside the caret.
  std::string_view reason = error.description();
  constexpr std::string_view preamble = "Error while parsing ";
  if (reason.starts_with(preamble)) {
    const std::size_t colon = reason.find(": ");
    if (colon != std::string_view::npos) reason.remove_prefix(colon + 2);
  }
  Diagnostic diagnostic{Severity::error, converter.place(error.source().begin),
                        fmt::format("this is not valid TOML: {}", reason), ""};
  const std::string& line = diagnostic.place.line_text;
  if (std::count(line.begin(), line.end(), '"') % 2 == 1) {
    diagnostic.hint = "a text lacks one of its quotes";
  } else if (has_unquoted_value(diagnostic.place.line_text)) {
    diagnostic.hint = "text and quantities stand in quotes: method = \"lora\", bandwidth = \"450 GB/s\"";
  }
  return diagnostic;
}

void move_to(Node& node, const SourcePlace& place) {
  node.place = place;
  if (auto* array = std::get_if<Node::Array>(&node.value)) {
    for (Node& item : *array) move_to(item, place);
  } else if (auto* table = std::get_if<Node::Table>(&node.value)) {
    for (Member& member : *table) {
      member.key_place = place;
      move_to(member.value, place);
    }
  }
}

}  // namespace

Result<Document> parse_toml(const SourceText& source) {
  Converter converter(source);
  const toml::parse_result parsed = toml::parse(std::string_view(source.text));
  if (!parsed) return syntax_error(parsed.error(), converter);
  Document document{source.file, converter.node(parsed.table())};
  document.root.place = {source.file, 0, 0, {}};
  Diagnostics diagnostics = converter.take_diagnostics();
  if (has_error(diagnostics)) return diagnostics;
  return document;
}

std::optional<Node> parse_toml_value(const std::string& text, const SourcePlace& place) {
  const SourceText source{place.file, "value = " + text};
  const Result<Document> document = parse_toml(source);
  if (!document) return std::nullopt;
  const auto& members = std::get<Node::Table>(document->root.value);
  if (members.size() != 1) return std::nullopt;
  Node node = members.front().value;
  move_to(node, place);
  return node;
}

std::string toml_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    constexpr int first_printable = 0x20;
    constexpr char delete_character = 0x7f;
    switch (c) {
      case '"': quoted += "\\\""; break;
      case '\\': quoted += "\\\\"; break;
      case '\n': quoted += "\\n"; break;
      case '\t': quoted += "\\t"; break;
      case '\r': quoted += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < first_printable || c == delete_character) {
          quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          quoted += c;
        }
    }
  }
  return quoted + '"';
}

namespace {

bool is_bare_key(std::string_view key) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  return !key.empty() && key.find_first_not_of(allowed) == std::string_view::npos;
}

struct ValueText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return toml_float(value); }
  std::string operator()(const std::string& value) const { return toml_string(value); }
  std::string operator()(const Node::Array& items) const {
    std::string text;
    for (const Node& item : items) text += (text.empty() ? "" : ", ") + toml_value(item);
    return '[' + text + ']';
  }
  std::string operator()(const Node::Table& members) const {
    std::string text;
    for (const Member& member : members) {
      text += (text.empty() ? "" : ", ") + (is_bare_key(member.key) ? member.key : toml_string(member.key)) + " = " +
              toml_value(member.value);
    }
    return "{ " + text + " }";
  }
};

}  // namespace

std::string toml_value(const Node& node) { return std::visit(ValueText{}, node.value); }

std::string toml_float(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

}  // namespace takt
