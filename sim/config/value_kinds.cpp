#include "config/value_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "config/toml_text.hpp"

namespace takt {
namespace {

void add_wrong_type(const Node& node, const std::string& key, std::string_view wanted, Reading& reading,
                    std::string hint = "") {
  reading.error(node.place, fmt::format("{} needs {}, not {}", key, wanted, describe(node)), std::move(hint));
}

/// The last part of a dotted key, as it stands in the file.
std::string_view leaf(std::string_view key) { return key.substr(key.rfind('.') + 1); }

/// A hint for a number or flag that was put in quotes.
std::string unquote_hint(const Node& node, const std::string& key) {
  const auto* text = node.as<std::string>();
  if (!text) return "";
  const std::optional<Node> bare = parse_toml_value(*text, node.place);
  if (!bare || bare->as<Node::Array>() || bare->as<Node::Table>()) return "";
  return fmt::format("without quotes: {} = {}", leaf(key), *text);
}

/// The place of a character within a text value: a plain string on one line starts behind its quote.
SourcePlace place_within(const Node& node, std::size_t offset) {
  SourcePlace place = node.place;
  const std::string& line = place.line_text;
  if (place.column == 0 || place.column > line.size()) return place;
  const char quote = line[place.column - 1];
  const bool quoted = quote == '"' || quote == '\'';
  const bool ascii = std::all_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (quoted && ascii && line.find(*node.as<std::string>(), place.column) == place.column) {
    place.column += static_cast<std::uint32_t>(offset) + 1;
  } else if (!quoted && ascii && line.find(*node.as<std::string>(), place.column - 1) == place.column - 1) {
    place.column += static_cast<std::uint32_t>(offset);
  }
  return place;
}

std::string quoted_list(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + toml_string(item);
  return "[" + text + "]";
}

}  // namespace

std::string Integer::range() const { return fmt::format("{} .. {}", least, most); }

bool Integer::read(const Node& node, const std::string& key, Value& value, Reading& reading) const {
  const auto* number = node.as<std::int64_t>();
  if (!number) {
    const auto* real = node.as<double>();
    const bool whole = real && std::floor(*real) == *real && std::abs(*real) < 1e15;
    add_wrong_type(node, key, "a whole number", reading,
                   whole ? fmt::format("without the point: {} = {:.0f}", leaf(key), *real) : unquote_hint(node, key));
    return false;
  }
  if (*number < least || *number > most) return add_out_of_range(node, key, range(), reading), false;
  value = *number;
  return true;
}

std::string Integer::write(const Value& value) const { return std::to_string(value); }

std::string Real::range() const { return fmt::format("{} .. {}", least, most); }

bool Real::read(const Node& node, const std::string& key, Value& value, Reading& reading) const {
  const auto* real = node.as<double>();
  const auto* whole = node.as<std::int64_t>();
  if (!real && !whole) return add_wrong_type(node, key, "a number", reading, unquote_hint(node, key)), false;
  const double number = real ? *real : static_cast<double>(*whole);
  if (!(number >= least && number <= most)) return add_out_of_range(node, key, range(), reading), false;
  value = number;
  return true;
}

std::string Real::write(const Value& value) const { return toml_float(value); }

bool Flag::read(const Node& node, const std::string& key, Value& value, Reading& reading) const {
  const auto* flag = node.as<bool>();
  if (!flag) {
    add_wrong_type(node, key, "true or false", reading, fmt::format("{0} = true, or {0} = false", leaf(key)));
    return false;
  }
  value = *flag;
  return true;
}

std::string Flag::write(const Value& value) const { return value ? "true" : "false"; }

bool Text::read(const Node& node, const std::string& key, Value& value, Reading& reading) const {
  const auto* text = node.as<std::string>();
  if (!text) return add_wrong_type(node, key, "text in quotes", reading), false;
  if (trim(*text).empty()) return reading.error(node.place, fmt::format("{} is empty", key)), false;
  value = *text;
  return true;
}

std::string Text::write(const Value& value) const { return value.empty() ? "" : toml_string(value); }

bool TextList::read(const Node& node, const std::string& key, Value& value, Reading& reading) const {
  value.clear();
  if (const auto* text = node.as<std::string>()) {
    if (none.empty() || *text != none) value.push_back(*text);
    return true;
  }
  const auto* items = node.as<Node::Array>();
  if (!items) return add_wrong_type(node, key, "a list of texts", reading), false;
  const std::size_t errors_before = reading.diagnostics.size();
  for (const Node& item : *items) {
    std::string text;
    if (Text{}.read(item, fmt::format("{}[{}]", key, &item - items->data()), text, reading)) value.push_back(text);
  }
  return reading.diagnostics.size() == errors_before;
}

std::string TextList::write(const Value& value) const {
  if (!value.empty()) return quoted_list(value);
  return none.empty() ? "" : toml_string(none);
}

bool IntegerList::read(const Node& node, const std::string& key, Value& value, Reading& reading) const {
  value.clear();
  const auto* text = node.as<std::string>();
  if (text && *text == all) return true;
  const auto* items = node.as<Node::Array>();
  if (!items) {
    add_wrong_type(node, key, "a list of whole numbers", reading, fmt::format("{} = [0, 1], or \"{}\"", leaf(key), all));
    return false;
  }
  if (items->empty()) {
    reading.error(node.place, fmt::format("{} is an empty list", key), fmt::format("write \"{}\", or leave it out", all));
    return false;
  }
  const std::size_t errors_before = reading.diagnostics.size();
  for (const Node& entry : *items) {
    std::int64_t number = 0;
    if (!item.read(entry, fmt::format("{}[{}]", key, &entry - items->data()), number, reading)) continue;
    if (std::find(value.begin(), value.end(), number) != value.end()) {
      reading.error(entry.place, fmt::format("{} names {} twice", key, number));
    }
    value.push_back(number);
  }
  return reading.diagnostics.size() == errors_before;
}

std::string IntegerList::write(const Value& value) const {
  if (value.empty()) return '"' + all + '"';
  return fmt::format("[{}]", fmt::join(value, ", "));
}

std::optional<std::string> near_word(std::string_view word, std::span<const std::string> candidates) {
  if (std::optional<std::string> near = did_you_mean(word, candidates)) return near;
  constexpr std::size_t telling = 4;  // shorter words are part of too many others
  for (const std::string& candidate : candidates) {
    const bool longer = candidate.size() >= telling && word.find(candidate) != std::string_view::npos;
    if (longer || word.starts_with(candidate + '_')) return candidate;
    if (word.size() >= telling && candidate.find(word) != std::string::npos) return candidate;
  }
  return std::nullopt;
}

std::optional<std::size_t> read_word(const Node& node, const std::string& key, std::span<const std::string> words,
                                     Reading& reading) {
  const std::string choices = "choices are " + join(words, " | ");
  const auto* text = node.as<std::string>();
  if (!text) {
    add_wrong_type(node, key, "one of a few words in quotes", reading, choices);
    return std::nullopt;
  }
  const auto found = std::find(words.begin(), words.end(), *text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const std::optional<std::string> near = near_word(*text, words);
  reading.error(node.place, fmt::format("{} has no choice \"{}\"", key, *text),
                near ? fmt::format("did you mean \"{}\"? {}", *near, choices) : choices);
  return std::nullopt;
}

std::string WordSet::type() const {
  std::string text = "list of " + join(items, " | ");
  for (const auto& [name, set] : named_sets) text += ", or \"" + name + '"';
  return text;
}

bool WordSet::read(const Node& node, const std::string& key, Value& value, Reading& reading) const {
  std::vector<std::string> names;
  for (const auto& [name, set] : named_sets) names.push_back(name);
  const auto* list = node.as<Node::Array>();
  if (!list) {
    const std::optional<std::size_t> position = read_word(node, key, names, reading);
    if (!position) {
      reading.diagnostics.back().hint += fmt::format("; or a list of {}", join(items, ", "));
      return false;
    }
    value = named_sets[*position].second;
    return true;
  }
  if (list->empty()) return reading.error(node.place, fmt::format("{} is an empty list", key)), false;
  const std::size_t errors_before = reading.diagnostics.size();
  std::vector<std::string> chosen;
  for (const Node& item : *list) {
    const std::optional<std::size_t> position =
        read_word(item, fmt::format("{}[{}]", key, &item - list->data()), items, reading);
    if (!position) continue;
    if (std::find(chosen.begin(), chosen.end(), items[*position]) != chosen.end()) {
      reading.error(item.place, fmt::format("{} names \"{}\" twice", key, items[*position]));
    }
    chosen.push_back(items[*position]);
  }
  value.clear();
  for (const std::string& item : items) {
    if (std::find(chosen.begin(), chosen.end(), item) != chosen.end()) value.push_back(item);
  }
  return reading.diagnostics.size() == errors_before;
}

std::string WordSet::write(const Value& value) const {
  for (const auto& [name, set] : named_sets) {
    if (set == value) return '"' + name + '"';
  }
  return quoted_list(value);
}

const std::string* quantity_at(const Node& node, const std::string& key, const std::string& dimension,
                               const std::string& units, Reading& reading) {
  if (const auto* text = node.as<std::string>()) return text;
  if (node.as<std::int64_t>() || node.as<double>()) {
    reading.error(node.place, fmt::format("{} needs a unit: it is a {}", key, dimension),
                  fmt::format("write it in quotes with one of {}", units));
  } else {
    add_wrong_type(node, key, fmt::format("a {} in quotes", dimension), reading, fmt::format("units are {}", units));
  }
  return nullptr;
}

void add_quantity_problem(const Node& node, const std::string& key, const QuantityProblem& problem, Reading& reading) {
  reading.error(place_within(node, problem.offset), fmt::format("{} {}", key, problem.message), problem.hint);
}

void add_out_of_range(const Node& node, const std::string& key, const std::string& range, Reading& reading) {
  const auto* text = node.as<std::string>();
  const auto* real = node.as<double>();
  const auto* whole = node.as<std::int64_t>();
  const std::string value = text ? *text : real ? fmt::format("{}", *real) : fmt::format("{}", whole ? *whole : 0);
  reading.error(node.place, fmt::format("{} = {} is out of range", key, value), fmt::format("use {}", range));
}

bool IntegerOrWord::read(const Node& node, const std::string& key, Value& value, Reading& reading) const {
  const auto* text = node.as<std::string>();
  if (text && *text == word) return value = none, true;
  if (integer.read(node, key, value, reading)) return true;
  std::string& hint = reading.diagnostics.back().hint;
  hint += (hint.empty() ? "or write \"" : ", or \"") + word + '"';
  return false;
}

std::string IntegerOrWord::write(const Value& value) const {
  return value == none ? '"' + word + '"' : integer.write(value);
}

}  // namespace takt
