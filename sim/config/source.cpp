#include "config/source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <tuple>

#include "config/reading.hpp"

namespace takt {

SourcePlace place_of(const SourcePlaces& places, const std::string& key, const std::string& file) {
  const auto found = places.find(key);
  return found == places.end() ? SourcePlace{file, 0, 0, {}} : found->second;
}

SourcePlace place_at(const SourceText& source, std::size_t offset) {
  const std::string_view text = source.text;
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  SourcePlace place;
  place.file = source.file;
  place.line = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  place.column = static_cast<std::uint32_t>(offset - line_start) + 1;
  place.line_text = std::string(text.substr(line_start, text.find('\n', line_start) - line_start));
  return place;
}

Result<SourceText> read_text_file(const std::string& path) {
  const auto failed = [&path](const std::string& reason, const std::string& hint) {
    return Diagnostic{Severity::error, {path, 0, 0, {}}, reason, hint};
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return failed("this is a folder, not a file", "name a file in it");
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    const int error = errno;
    return failed("cannot be read: " + std::string(error ? std::strerror(error) : "unknown reason"), "");
  }
  std::ostringstream text;
  text << stream.rdbuf();
  if (stream.bad()) return failed("reading stopped before the end of the file", "");
  return SourceText{path, std::move(text).str()};
}

void Reading::error(const SourcePlace& place, std::string message, std::string hint) {
  diagnostics.push_back({Severity::error, place, std::move(message), std::move(hint)});
}

void Reading::warning(const SourcePlace& place, std::string message, std::string hint) {
  diagnostics.push_back({Severity::warning, place, std::move(message), std::move(hint)});
}

void Reading::note(const SourcePlace& place, std::string message, std::string hint) {
  diagnostics.push_back({Severity::note, place, std::move(message), std::move(hint)});
}

void sort_by_place(Diagnostics& diagnostics) {
  const auto order = [](const Diagnostic& d) {
    const bool whole_file = d.place.line == 0;
    return std::tuple(whole_file, d.place.line, d.place.column);
  };
  std::stable_sort(diagnostics.begin(), diagnostics.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return order(a) < order(b); });
}

}  // namespace takt
