#include "config/list_kinds.hpp"

#include <charconv>
#include <fmt/format.h>

namespace takt {
namespace {

/// The last part of a dotted key, as it stands in the file.
std::string leaf(const std::string& key) {
  return key.substr(key.rfind('.') + 1);
}

}  // namespace

bool Lengths::read(const Node& node, const std::string& key, Value& value, Reading& reading) const {
  value.clear();
  const auto* text = node.as<std::string>();
  if (text && *text == none) return true;
  std::int64_t number = 0;
  if (node.as<std::int64_t>()) {
    if (!item.read(node, key, number, reading)) return false;
    value.push_back(number);
    return true;
  }
  const auto* items = node.as<Node::Array>();
  if (!items || items->empty()) {
    reading.error(node.place,
                  items ? fmt::format("{} is an empty list", key)
                        : fmt::format("{} needs a whole number or a list of them, not {}", key, describe(node)),
                  fmt::format("{0} = 512, {0} = [700, 300], or \"{1}\"", leaf(key), none));
    return false;
  }
  const std::size_t errors_before = reading.diagnostics.size();
  for (const Node& entry : *items) {
    if (item.read(entry, fmt::format("{}[{}]", key, &entry - items->data()), number, reading)) value.push_back(number);
  }
  return reading.diagnostics.size() == errors_before;
}

std::string Lengths::write(const Value& value) const {
  if (value.empty()) return '"' + none + '"';
  if (value.size() == 1) return item.write(value.front());
  return fmt::format("[{}]", fmt::join(value, ", "));
}

bool RankFactors::read(const Node& node, const std::string& key, Value& value, Reading& reading) const {
  value.clear();
  const auto* table = node.as<Node::Table>();
  if (!table) {
    reading.error(node.place, fmt::format("{} needs a table from rank to number, not {}", key, describe(node)),
                  fmt::format("{} = {{ 3 = 1.2 }} slows rank 3 down", leaf(key)));
    return false;
  }
  const std::size_t errors_before = reading.diagnostics.size();
  for (const Member& member : *table) {
    std::int64_t number = 0;
    const char* end = member.key.data() + member.key.size();
    const auto [stop, problem] = std::from_chars(member.key.data(), end, number);
    if (problem != std::errc() || stop != end || number < rank.least || number > rank.most) {
      reading.error(member.key_place, fmt::format("{} has no rank \"{}\"", key, member.key),
                    fmt::format("ranks are whole numbers, {}", rank.range()));
      continue;
    }
    double read_factor = 0.0;
    if (factor.read(member.value, key + '.' + member.key, read_factor, reading)) value[number] = read_factor;
  }
  return reading.diagnostics.size() == errors_before;
}

std::string RankFactors::write(const Value& value) const {
  std::string text;
  for (const auto& [number, its_factor] : value) {
    text += fmt::format("{}{} = {}", text.empty() ? " " : ", ", number, factor.write(its_factor));
  }
  return "{" + text + " }";
}

}  // namespace takt
