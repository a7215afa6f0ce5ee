#include "config/key_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace takt {
namespace {

std::string leaf_of(const std::string& path) { return path.substr(path.rfind('.') + 1); }

std::string section_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

/// "[batch]", or "link[3]" for an entry of a list of tables.
std::string section_name(const std::string& path) { return path.ends_with(']') ? path : '[' + path + ']'; }

}  // namespace

std::string dotted(const std::string& section, const std::string& name) {
  if (section.empty() || name.empty()) return section + name;
  return section + '.' + name;
}

KeyIndex::KeyIndex(std::vector<KeyOutline> outlines) : outlines_(std::move(outlines)) {
  for (std::size_t key = 0; key < outlines_.size(); ++key) {
    const bool added = keys_.emplace(outlines_[key].path, key).second;
    expects(added, "a key table lists each path once");
    for (std::string section = section_of(outlines_[key].path); !section.empty(); section = section_of(section)) {
      sections_.push_back(section);
    }
  }
  std::sort(sections_.begin(), sections_.end());
  sections_.erase(std::unique(sections_.begin(), sections_.end()), sections_.end());
}

std::size_t KeyIndex::find(const std::string& path) const {
  const auto found = keys_.find(path);
  return found == keys_.end() ? npos : found->second;
}

bool KeyIndex::is_section(const std::string& path) const {
  return std::binary_search(sections_.begin(), sections_.end(), path);
}

std::vector<std::string> KeyIndex::names_in(const std::string& section) const {
  std::vector<std::string> names;
  for (const KeyOutline& outline : outlines_) {
    if (section_of(outline.path) == section) names.push_back(leaf_of(outline.path));
  }
  for (const std::string& inner : sections_) {
    if (section_of(inner) == section) names.push_back(leaf_of(inner));
  }
  return names;
}

void KeyIndex::add_unknown(const Member& member, const std::string& section, const std::string& prefix,
                           Reading& reading) const {
  const std::string where = dotted(prefix, section);
  const std::string in = where.empty() ? "at the top of the file" : "in " + section_name(where);
  reading.error(member.key_place, fmt::format("unknown key \"{}\" {}", member.key, in), unknown_hint(member.key, section));
}

std::string KeyIndex::unknown_hint(const std::string& key, const std::string& section) const {
  const std::vector<std::string> names = names_in(section);
  if (const std::optional<std::string> near = did_you_mean(key, names)) return fmt::format("did you mean \"{}\"?", *near);
  // A key in the wrong section, or a dotted path in quotes.
  std::vector<std::string> elsewhere;
  for (const KeyOutline& outline : outlines_) {
    if (leaf_of(outline.path) == key || outline.path == key) elsewhere.push_back(outline.path);
  }
  for (const std::string& inner : sections_) {
    if (leaf_of(inner) == key) elsewhere.push_back(inner);
  }
  if (!elsewhere.empty()) return fmt::format("there is {}", join(elsewhere, " and "));
  if (const std::optional<std::string> near = near_word(key, names)) return fmt::format("did you mean \"{}\"?", *near);
  return fmt::format("keys here are {}", join(names, ", "));
}

void KeyIndex::add_missing(std::size_t key, const Node& root, const std::string& prefix, Reading& reading) const {
  const KeyOutline& missing = outlines_[key];
  const std::string section = section_of(missing.path);
  const Node* node = find_path(root, section);
  const SourcePlace place = node ? node->place : root.place;
  const std::string where = dotted(prefix, section);
  const std::string in = where.empty() ? "" : " in " + section_name(where);
  const std::string range = missing.range.empty() ? "" : fmt::format(", {}", missing.range);
  reading.error(place, fmt::format("missing key \"{}\"{}", leaf_of(missing.path), in),
                fmt::format("{}: {} ({}{})", leaf_of(missing.path), missing.meaning, missing.type, range));
}

void KeyIndex::add_not_a_table(const Member& member, const std::string& path, Reading& reading) const {
  reading.error(member.value.place, fmt::format("{} must be a table, not {}", path, describe(member.value)),
                fmt::format("write [{}] and its keys below: {}", path, join(names_in(path), ", ")));
}

std::string file_stem(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

}  // namespace takt
