// TOML text to a Document. The home of toml++ is toml_text.cpp.
#pragma once

#include <optional>
#include <string>

#include "config/node.hpp"

namespace takt {

/// Parses a whole file. Errors: not valid TOML (the first place where it stops being valid), dates and times (no key of
/// Takt takes one).
Result<Document> parse_toml(const SourceText& source);

/// One TOML value such as `2`, `"lora"` or `{ rank = 16 }`, all of it standing at `place`; nothing if the text is not
/// exactly one value.
std::optional<Node> parse_toml_value(const std::string& text, const SourcePlace& place);

/// `text` as a TOML string with its quotes.
std::string toml_string(std::string_view text);

/// Any value on one line, as parse_toml_value reads it back.
std::string toml_value(const Node& node);

/// `value` as a TOML float: the shortest digits that read back as the same number, always with a point or exponent.
std::string toml_float(double value);

}  // namespace takt
