// The kinds of values that keys take. Each kind says its name and range for the key reference, reads a value from a
// Node (or says why not, at its place), and writes a value as TOML. Rows of the key tables are made of these.
//
// Common shape of a kind:
//     using Value = ...;
//     std::string type() const;                                                  // "integer", "one of a | b"
//     std::string range() const;                                                 // "1 .. 8", or empty
//     bool read(const Node&, const std::string& key, Value&, Reading&) const;    // false: an error was added
//     std::string write(const Value&) const;                                     // TOML; empty = leave the key out
#pragma once

#include "base/units.hpp"
#include "config/node.hpp"
#include "config/quantity.hpp"
#include "config/reading.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace takt {

/// A whole number within bounds, both included.
struct Integer {
  using Value = std::int64_t;
  std::int64_t least = 0;
  std::int64_t most = 0;

  std::string type() const { return "integer"; }
  std::string range() const;
  bool read(const Node& node, const std::string& key, Value& value, Reading& reading) const;
  std::string write(const Value& value) const;
};

/// A number within bounds, both included. Whole numbers are taken as well.
struct Real {
  using Value = double;
  double least = 0;
  double most = 0;

  std::string type() const { return "number"; }
  std::string range() const;
  bool read(const Node& node, const std::string& key, Value& value, Reading& reading) const;
  std::string write(const Value& value) const;
};

/// true or false.
struct Flag {
  using Value = bool;

  std::string type() const { return "true | false"; }
  std::string range() const { return ""; }
  bool read(const Node& node, const std::string& key, Value& value, Reading& reading) const;
  std::string write(const Value& value) const;
};

/// Text that is not empty. An empty member means "not set" and is left out when written.
struct Text {
  using Value = std::string;

  std::string type() const { return "text"; }
  std::string range() const { return ""; }
  bool read(const Node& node, const std::string& key, Value& value, Reading& reading) const;
  std::string write(const Value& value) const;
};

/// Text, or a word that stands for "not set"; an empty member is written as that word.
struct TextOrWord {
  using Value = std::string;
  std::string word;

  std::string type() const { return "text, or \"" + word + "\""; }
  std::string range() const { return ""; }
  bool read(const Node& node, const std::string& key, Value& value, Reading& reading) const {
    if (!Text{}.read(node, key, value, reading)) return false;
    if (value == word) value.clear();
    return true;
  }
  std::string write(const Value& value) const { return value.empty() ? '"' + word + '"' : Text{}.write(value); }
};

/// A list of texts; one text alone stands for a list of it. `none` is the word for an empty list; without one an empty
/// list is left out when written.
struct TextList {
  using Value = std::vector<std::string>;
  std::string none;

  std::string type() const { return none.empty() ? "list of text" : "list of text, or \"" + none + "\""; }
  std::string range() const { return ""; }
  bool read(const Node& node, const std::string& key, Value& value, Reading& reading) const;
  std::string write(const Value& value) const;
};

/// Different whole numbers within bounds, in the given order. An empty list means `all` and is written as that word.
struct IntegerList {
  using Value = std::vector<std::int64_t>;
  Integer item;
  std::string all = "all";

  std::string type() const { return "list of integers, or \"" + all + "\""; }
  std::string range() const { return item.range(); }
  bool read(const Node& node, const std::string& key, Value& value, Reading& reading) const;
  std::string write(const Value& value) const;
};

/// The candidate that `word` seems to mean: a slip of the fingers, or the same with something added ("q_proj" for "q").
std::optional<std::string> near_word(std::string_view word, std::span<const std::string> candidates);

/// Reads one of `words`; the position of it, or nothing after an error with a did-you-mean.
std::optional<std::size_t> read_word(const Node& node, const std::string& key, std::span<const std::string> words,
                                     Reading& reading);

/// One of a few words, each standing for a value.
template <class T>
struct Choice {
  using Value = T;
  std::vector<std::pair<std::string, T>> choices;

  std::vector<std::string> words() const {
    std::vector<std::string> all;
    for (const auto& [word, value] : choices) all.push_back(word);
    return all;
  }
  std::string type() const {
    std::string text = "one of ";
    for (const auto& [word, value] : choices) text += (&word == &choices.front().first ? "" : " | ") + word;
    return text;
  }
  std::string range() const { return ""; }
  bool read(const Node& node, const std::string& key, Value& value, Reading& reading) const {
    if (const auto* text = node.as<std::string>()) {
      for (const auto& [word, chosen] : choices) {
        if (word == *text) return value = chosen, true;
      }
    }
    const std::optional<std::size_t> position = read_word(node, key, words(), reading);
    if (position) value = choices[*position].second;
    return position.has_value();
  }
  std::string write(const Value& value) const {
    for (const auto& [word, chosen] : choices) {
      if (chosen == value) return '"' + word + '"';
    }
    return "";
  }
};

/// A set of words from `items`, in their order, written as a list or by the name of a set.
struct WordSet {
  using Value = std::vector<std::string>;
  std::vector<std::string> items;
  std::vector<std::pair<std::string, std::vector<std::string>>> named_sets;

  std::string type() const;
  std::string range() const { return ""; }
  bool read(const Node& node, const std::string& key, Value& value, Reading& reading) const;
  std::string write(const Value& value) const;
};

/// The text of a quantity at a node; nothing after an error (a bare number, a wrong type).
const std::string* quantity_at(const Node& node, const std::string& key, const std::string& dimension,
                               const std::string& units, Reading& reading);
void add_quantity_problem(const Node& node, const std::string& key, const QuantityProblem& problem, Reading& reading);
void add_out_of_range(const Node& node, const std::string& key, const std::string& range, Reading& reading);

/// A quantity with its unit, within bounds, both included. T is Bytes, Duration, Bandwidth, FlopRate, Power, Frequency.
template <class T>
struct Amount {
  using Value = T;
  T least{};
  T most{};

  std::string type() const { return std::string(dimension_name<T>()); }
  std::string range() const { return quantity_text(least) + " .. " + quantity_text(most); }
  bool read(const Node& node, const std::string& key, Value& value, Reading& reading) const {
    const std::string* text = quantity_at(node, key, type(), accepted_units<T>(), reading);
    if (!text) return false;
    const ParsedQuantity<T> parsed = parse_quantity<T>(*text);
    if (!parsed.value) return add_quantity_problem(node, key, parsed.problem, reading), false;
    if (*parsed.value < least || *parsed.value > most) return add_out_of_range(node, key, range(), reading), false;
    value = *parsed.value;
    return true;
  }
  std::string write(const Value& value) const { return '"' + quantity_text(value) + '"'; }
};

/// A value of another kind, or a word that stands for "not set"; with an empty word the key is simply left out.
template <class Kind>
struct Optional {
  using Value = std::optional<typename Kind::Value>;
  Kind kind;
  std::string word;

  std::string type() const { return word.empty() ? kind.type() : kind.type() + ", or \"" + word + "\""; }
  std::string range() const { return kind.range(); }
  bool read(const Node& node, const std::string& key, Value& value, Reading& reading) const {
    const auto* text = node.as<std::string>();
    if (text && !word.empty() && *text == word) return value.reset(), true;
    typename Kind::Value read_value{};
    if (!kind.read(node, key, read_value, reading)) return add_word_hint(reading), false;
    value = std::move(read_value);
    return true;
  }
  std::string write(const Value& value) const {
    if (value) return kind.write(*value);
    return word.empty() ? "" : '"' + word + '"';
  }

 private:
  void add_word_hint(Reading& reading) const {
    if (word.empty()) return;
    std::string& hint = reading.diagnostics.back().hint;
    hint += (hint.empty() ? "or write \"" : ", or \"") + word + '"';
  }
};

/// A whole number where `none` has a name of its own: 0 is written as "server".
struct IntegerOrWord {
  using Value = std::int64_t;
  Integer integer;
  std::int64_t none = 0;
  std::string word;

  std::string type() const { return "integer, or \"" + word + "\""; }
  std::string range() const { return integer.range(); }
  bool read(const Node& node, const std::string& key, Value& value, Reading& reading) const;
  std::string write(const Value& value) const;
};

}  // namespace takt
