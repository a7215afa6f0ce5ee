#include "golden/json_difference.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace takt {
namespace {

std::string text_of(const Json* value) {
  return value == nullptr ? "nothing" : write_json(*value, JsonLayout::compact);
}

std::optional<double> number_of(const Json& json) {
  if (const auto* whole = std::get_if<std::int64_t>(&json.value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&json.value)) return *real;
  return std::nullopt;
}

std::string line(const std::string& path, const Json* expected, const Json* actual) {
  std::string text = fmt::format("{}: expected {}, now {}", path, text_of(expected), text_of(actual));
  if (expected == nullptr || actual == nullptr) return text;
  const std::optional<double> before = number_of(*expected), after = number_of(*actual);
  if (before && after && *before != 0.0) text += fmt::format(" ({:+.3g} %)", 100.0 * (*after / *before - 1.0));
  return text;
}

void append(std::vector<std::string>& lines, std::vector<std::string> more) {
  lines.insert(lines.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<std::string> differences(const Json& expected, const Json& actual, const std::string& path) {
  std::vector<std::string> lines;
  if (expected == actual) return lines;
  const auto* expected_object = std::get_if<Json::Object>(&expected.value);
  const auto* actual_object = std::get_if<Json::Object>(&actual.value);
  const auto* expected_array = std::get_if<Json::Array>(&expected.value);
  const auto* actual_array = std::get_if<Json::Array>(&actual.value);
  if (expected_object != nullptr && actual_object != nullptr) {
    const std::string prefix = path.empty() ? "" : path + '.';
    for (const JsonMember& member : *expected_object) {
      const Json* now = actual.find(member.key);
      if (now == nullptr) {
        lines.push_back(line(prefix + member.key, &member.value, nullptr));
      } else {
        append(lines, differences(member.value, *now, prefix + member.key));
      }
    }
    for (const JsonMember& member : *actual_object) {
      if (expected.find(member.key) == nullptr) lines.push_back(line(prefix + member.key, nullptr, &member.value));
    }
    if (lines.empty()) lines.push_back(path + ": the members are in another order");
  } else if (expected_array != nullptr && actual_array != nullptr) {
    for (std::size_t i = 0; i < std::max(expected_array->size(), actual_array->size()); ++i) {
      const std::string place = fmt::format("{}[{}]", path, i);
      const Json* before = i < expected_array->size() ? &(*expected_array)[i] : nullptr;
      const Json* now = i < actual_array->size() ? &(*actual_array)[i] : nullptr;
      if (before != nullptr && now != nullptr) {
        append(lines, differences(*before, *now, place));
      } else {
        lines.push_back(line(place, before, now));
      }
    }
  } else {
    lines.push_back(line(path, &expected, &actual));
  }
  return lines;
}

}  // namespace takt
