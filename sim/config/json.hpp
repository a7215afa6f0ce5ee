// JSON, both ways: results that Takt writes and files of other programs that it reads. The one JSON of the project.
#pragma once

#include "config/source.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace takt {

struct JsonMember;

/// A JSON value. Objects keep the order of their members, so the same value is always the same text.
struct Json {
  using Array = std::vector<Json>;
  using Object = std::vector<JsonMember>;
  using Value = std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object>;

  Value value;  ///< null until set

  Json();
  // Implicit, so that {"key", 3.0} reads well.
  Json(bool content);          // NOLINT
  Json(int content);           // NOLINT
  Json(std::int64_t content);  // NOLINT
  Json(double content);        // NOLINT
  Json(const char* content);   // NOLINT
  Json(std::string content);   // NOLINT
  Json(Array content);         // NOLINT
  Json(Object content);        // NOLINT

  /// The member `key` of an object, or null if this is no object or has no such member.
  const Json* find(const std::string& key) const;
};

struct JsonMember {
  std::string key;
  Json value;
};

// Behind JsonMember, since a vector's destructor needs its whole type.
inline Json::Json() = default;
inline Json::Json(bool content) : value(content) {}
inline Json::Json(int content) : value(static_cast<std::int64_t>(content)) {}
inline Json::Json(std::int64_t content) : value(content) {}
inline Json::Json(double content) : value(content) {}
inline Json::Json(const char* content) : value(std::string(content)) {}
inline Json::Json(std::string content) : value(std::move(content)) {}
inline Json::Json(Array content) : value(std::move(content)) {}
inline Json::Json(Object content) : value(std::move(content)) {}

bool operator==(const Json& a, const Json& b);
bool operator==(const JsonMember& a, const JsonMember& b);

enum class JsonLayout {
  pretty,   ///< two spaces an indent, ending in a newline
  compact,  ///< one line, no newline
};

/// Doubles are written with the digits that read back as the same double; infinities and NaN as null.
std::string write_json(const Json& json, JsonLayout layout = JsonLayout::pretty);

/// Error: no valid JSON, with line and column.
Result<Json> parse_json(const SourceText& source);

}  // namespace takt
