#include "config/yaml.hpp"

#include <cctype>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "config/reading.hpp"

namespace takt {
namespace {

constexpr std::size_t most_values = 100'000;  ///< an alias of an alias of ... can stand for billions

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

template <class T>
std::optional<T> whole_text_as(const std::string& text) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  if (begin != end && *begin == '+') ++begin;
  T value{};
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() && stop == end && begin != end ? std::optional(value) : std::nullopt;
}

class TreeBuilder {
 public:
  explicit TreeBuilder(const SourceText& source) : source_(source) {
    std::size_t start = 0;
    while (start <= source.text.size()) {
      const std::size_t end = std::min(source.text.find('\n', start), source.text.size());
      lines_.push_back(source.text.substr(start, end - start));
      start = end + 1;
    }
  }

  /// Without a value: nothing stands there.
  std::optional<Node> build(const YAML::Node& yaml) {
    if (++values_ > most_values) {
      if (values_ == most_values + 1) reading_.error(place(yaml.Mark()), "the file has too many values", "");
      return std::nullopt;
    }
    if (yaml.IsMap()) return table(yaml);
    if (yaml.IsSequence()) return array(yaml);
    if (yaml.IsScalar()) return scalar(yaml);
    return std::nullopt;
  }

  SourcePlace place(const YAML::Mark& mark) const {
    if (mark.line < 0) return {source_.file, 0, 0, {}};
    const auto line = static_cast<std::size_t>(mark.line);
    return {source_.file, static_cast<std::uint32_t>(line + 1), static_cast<std::uint32_t>(mark.column + 1),
            line < lines_.size() ? lines_[line] : std::string()};
  }

  Reading take_reading() { return std::move(reading_); }

 private:
  Node table(const YAML::Node& yaml) {
    Node::Table members;
    std::set<std::string> keys;
    for (const auto& entry : yaml) {
      if (!entry.first.IsScalar()) {
        reading_.error(place(entry.first.Mark()), "a key must be one word", "");
        continue;
      }
      const std::string key = entry.first.Scalar();
      if (!keys.insert(key).second) {
        reading_.error(place(entry.first.Mark()), "the key " + key + " stands here twice", "keep one of the two");
        continue;
      }
      std::optional<Node> value = build(entry.second);
      if (value) members.push_back({key, place(entry.first.Mark()), std::move(*value)});
    }
    return {std::move(members), place(yaml.Mark())};
  }

  Node array(const YAML::Node& yaml) {
    Node::Array items;
    for (const YAML::Node& item : yaml) {
      std::optional<Node> value = build(item);
      if (value) items.push_back(std::move(*value));
    }
    return {std::move(items), place(yaml.Mark())};
  }

  std::optional<Node> scalar(const YAML::Node& yaml) const {
    const std::string& text = yaml.Scalar();
    const SourcePlace at = place(yaml.Mark());
    if (yaml.Tag() == "!") return Node{text, at};  // it stands in quotes
    const std::string word = lower(text);
    if (word.empty() || word == "~" || word == "null") return std::nullopt;
    if (word == "true" || word == "yes" || word == "on") return Node{true, at};
    if (word == "false" || word == "no" || word == "off") return Node{false, at};
    if (const auto whole = whole_text_as<std::int64_t>(text)) return Node{*whole, at};
    if (const auto real = whole_text_as<double>(text)) return Node{*real, at};
    return Node{text, at};
  }

  const SourceText& source_;
  std::vector<std::string> lines_;
  std::size_t values_ = 0;
  Reading reading_;
};

}  // namespace

Result<Node> parse_yaml(const SourceText& source) {
  TreeBuilder builder(source);
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(source.text);
    if (documents.size() != 1) {
      return Diagnostic{Severity::error, {source.file, 0, 0, {}},
                        documents.empty() ? "the file is empty" : "the file holds several YAML documents", ""};
    }
    if (!documents.front().IsMap()) {
      return Diagnostic{Severity::error, builder.place(documents.front().Mark()), "the file must be a list of key: value",
                        ""};
    }
    std::optional<Node> root = builder.build(documents.front());
    return finish(root ? std::move(*root) : Node{Node::Table(), {}}, builder.take_reading());
  } catch (const YAML::Exception& problem) {
    return Diagnostic{Severity::error, builder.place(problem.mark), "not valid YAML: " + problem.msg, ""};
  }
}

}  // namespace takt
