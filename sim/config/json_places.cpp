#include "config/json_places.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace takt {
namespace {

/// Walks a valid text once. It needs no grammar beyond strings and brackets, since the text is known to be valid.
class PlaceScanner {
 public:
  explicit PlaceScanner(const SourceText& source) : source_(source), text_(source.text) {}

  SourcePlaces run() {
    value("");
    return std::move(places_);
  }

 private:
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() {
    while (here() == ' ' || here() == '\n' || here() == '\t' || here() == '\r') ++at_;
  }

  /// The text between two quotes, escapes left as they are; stops behind the second.
  std::string_view quoted() {
    const std::size_t start = ++at_;
    while (at_ < text_.size() && here() != '"') at_ += here() == '\\' ? std::size_t{2} : std::size_t{1};
    const std::string_view inside = text_.substr(start, at_ - start);
    ++at_;
    return inside;
  }

  void value(const std::string& path) {
    skip_space();
    if (here() == '{') return object(path);
    if (here() == '[') return skip_array();
    if (here() == '"') {
      quoted();
      return;
    }
    while (at_ < text_.size() && std::string_view(",]} \n\t\r").find(here()) == std::string_view::npos) ++at_;
  }

  void object(const std::string& path) {
    ++at_;
    for (skip_space(); here() == '"'; skip_space()) {
      const std::string key = (path.empty() ? "" : path + '.') + std::string(quoted());
      skip_space();
      ++at_;  // the colon
      skip_space();
      places_[key] = place_at(source_, at_);
      value(key);
      skip_space();
      if (here() == ',') ++at_;
    }
    ++at_;
  }

  void skip_array() {
    std::size_t depth = 0;
    do {
      if (here() == '"') {
        quoted();
        continue;
      }
      if (here() == '[' || here() == '{') ++depth;
      if (here() == ']' || here() == '}') --depth;
      ++at_;
    } while (depth > 0 && at_ < text_.size());
  }

  const SourceText& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  SourcePlaces places_;
};

}  // namespace

SourcePlaces json_places(const SourceText& source) { return PlaceScanner(source).run(); }

}  // namespace takt
