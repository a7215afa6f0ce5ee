// The home of nlohmann/json.
#include "config/json.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>

namespace takt {
namespace {

using Library = nlohmann::ordered_json;

Library to_library(const Json& json) {
  return std::visit(
      [](const auto& content) -> Library {
        using Content = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<Content, Json::Array>) {
          Library array = Library::array();
          for (const Json& element : content) array.push_back(to_library(element));
          return array;
        } else if constexpr (std::is_same_v<Content, Json::Object>) {
          Library object = Library::object();
          for (const JsonMember& member : content) object[member.key] = to_library(member.value);
          return object;
        } else {
          return Library(content);
        }
      },
      json.value);
}

Json from_library(const Library& library) {
  switch (library.type()) {
    case Library::value_t::boolean:
      return library.get<bool>();
    case Library::value_t::number_integer:
      return library.get<std::int64_t>();
    case Library::value_t::number_unsigned:
      if (library.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) return library.get<double>();
      return library.get<std::int64_t>();
    case Library::value_t::number_float:
      return library.get<double>();
    case Library::value_t::string:
      return library.get<std::string>();
    case Library::value_t::array: {
      Json::Array array;
      for (const Library& element : library) array.push_back(from_library(element));
      return array;
    }
    case Library::value_t::object: {
      Json::Object object;
      for (const auto& [key, value] : library.items()) object.push_back({key, from_library(value)});
      return object;
    }
    default:
      return {};
  }
}

}  // namespace

const Json* Json::find(const std::string& key) const {
  const Object* object = std::get_if<Object>(&value);
  if (object == nullptr) return nullptr;
  for (const JsonMember& member : *object) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

bool operator==(const Json& a, const Json& b) {
  return a.value == b.value;
}

bool operator==(const JsonMember& a, const JsonMember& b) {
  return a.key == b.key && a.value == b.value;
}

std::string write_json(const Json& json, JsonLayout layout) {
  constexpr auto on_bad_utf8 = Library::error_handler_t::replace;
  const Library library = to_library(json);
  if (layout == JsonLayout::compact) return library.dump(-1, ' ', false, on_bad_utf8);
  return library.dump(2, ' ', false, on_bad_utf8) + '\n';
}

Result<Json> parse_json(const SourceText& source) {
  try {
    return from_library(Library::parse(source.text));
  } catch (const Library::parse_error& error) {
    const std::size_t offset = error.byte > 0 ? error.byte - 1 : 0;
    return Diagnostic{Severity::error, place_at(source, offset), "this is no valid JSON",
                      "check for a missing comma, quote or bracket before this place"};
  }
}

}  // namespace takt
