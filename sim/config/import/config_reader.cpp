#include "config/import/config_reader.hpp"

#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "config/toml_text.hpp"

namespace takt {
namespace {

const Node::Table& empty_table() {
  static const Node::Table table;
  return table;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// A value as its file would write it, for comments: without line breaks and not too long.
std::string shown(const Node& node) {
  const auto* text = node.as<std::string>();
  std::string value = text ? *text : toml_value(node);
  for (char& c : value) {
    if (std::iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  constexpr std::size_t longest = 60;
  return value.size() > longest ? value.substr(0, longest) + "..." : value;
}

}  // namespace

ConfigReader::ConfigReader(const Node& table, std::string prefix, ImportedConfig& config, Reading& reading)
    : members_(table.as<Node::Table>()), table_place_(table.place), prefix_(std::move(prefix)), config_(&config),
      reading_(&reading) {
  if (members_ == nullptr) members_ = &empty_table();
}

bool ConfigReader::has(const std::string& name) const {
  return find(*members_, name) != nullptr;
}

const Node* ConfigReader::field(const std::string& name) {
  read_.insert(name);
  const Member* member = find(*members_, name);
  return member ? &member->value : nullptr;
}

bool ConfigReader::is_auto(const Node& node) const {
  const auto* text = node.as<std::string>();
  return text != nullptr && *text == "auto";
}

void ConfigReader::wrong(const std::string& name, const Node& node, const std::string& expected) {
  reading_->error(node.place, fmt::format("{}{} must be {}, not {}", prefix_, name, expected, describe(node)));
}

std::optional<bool> ConfigReader::flag(const std::string& name) {
  const Node* node = field(name);
  if (node == nullptr) return std::nullopt;
  if (is_auto(*node)) return leave_out(name, "auto: another file decides"), std::nullopt;
  if (const auto* value = node->as<bool>()) return *value;
  if (const auto* text = node->as<std::string>()) {
    const std::string word = lower(*text);
    if (word == "true" || word == "false") return word == "true";
  }
  wrong(name, *node, "true or false");
  return std::nullopt;
}

std::optional<double> ConfigReader::number(const std::string& name, double smallest, double largest) {
  const Node* node = field(name);
  if (node == nullptr) return std::nullopt;
  if (is_auto(*node)) return leave_out(name, "auto: another file decides"), std::nullopt;
  std::optional<double> value;
  if (const auto* whole = node->as<std::int64_t>()) value = static_cast<double>(*whole);
  if (const auto* real = node->as<double>()) value = *real;
  if (value && *value >= smallest && *value <= largest) return value;
  wrong(name, *node, fmt::format("a number from {} to {}", smallest, largest));
  return std::nullopt;
}

std::optional<std::int64_t> ConfigReader::whole(const std::string& name, std::int64_t smallest, std::int64_t largest) {
  const Node* node = field(name);
  if (node == nullptr) return std::nullopt;
  if (is_auto(*node)) return leave_out(name, "auto: another file decides"), std::nullopt;
  std::optional<std::int64_t> value;
  if (const auto* exact = node->as<std::int64_t>()) value = *exact;
  const auto* real = node->as<double>();
  if (real != nullptr && std::abs(*real) < 1e18 && std::floor(*real) == *real) value = static_cast<std::int64_t>(*real);
  if (value && *value >= smallest && *value <= largest) return value;
  wrong(name, *node, fmt::format("a whole number from {} to {}", smallest, largest));
  return std::nullopt;
}

std::optional<std::string> ConfigReader::word(const std::string& name) {
  const Node* node = field(name);
  if (node == nullptr) return std::nullopt;
  if (is_auto(*node)) return leave_out(name, "auto: another file decides"), std::nullopt;
  if (const auto* text = node->as<std::string>()) return *text;
  if (const auto* value = node->as<bool>()) return std::string(*value ? "yes" : "no");
  if (const auto* value = node->as<std::int64_t>()) return std::to_string(*value);
  wrong(name, *node, "a word");
  return std::nullopt;
}

std::optional<ConfigReader> ConfigReader::section(const std::string& name) {
  const Node* node = field(name);
  if (node == nullptr) return std::nullopt;
  if (node->as<Node::Table>()) return ConfigReader(*node, prefix_ + name + '.', *config_, *reading_);
  wrong(name, *node, "a mapping");
  return std::nullopt;
}

SourcePlace ConfigReader::place(const std::string& name) const {
  const Member* member = find(*members_, name);
  return member ? member->value.place : table_place_;
}

std::string ConfigReader::said(const std::string& name) const {
  const Member* member = find(*members_, name);
  return member ? fmt::format("{}{}: {}", prefix_, name, shown(member->value)) : prefix_ + name;
}

void ConfigReader::imply(const std::string& name, const std::string& key, const std::string& toml) {
  read_.insert(name);
  config_->keys.push_back({key, toml, ImportedKey::Rank::stated, place(name), said(name)});
}

void ConfigReader::imply_default(const std::string& key, const std::string& toml, const std::string& text) {
  config_->keys.push_back({key, toml, ImportedKey::Rank::default_, {config_->file, 0, 0, {}}, text});
}

bool ConfigReader::says_auto(const std::string& name) const {
  const Member* member = find(*members_, name);
  return member != nullptr && is_auto(member->value);
}

void ConfigReader::imply_by_hidden_size(const std::string& name, const std::string& key, double square, double linear) {
  read_.insert(name);
  config_->by_hidden_size.push_back({key, square, linear, place(name), said(name)});
}

void ConfigReader::leave_out(const std::string& name, const std::string& reason) {
  read_.insert(name);
  if (has(name)) config_->left_out.push_back({place(name), said(name), reason});
}

void ConfigReader::leave_out(std::initializer_list<const char*> names, const std::string& reason) {
  for (const char* name : names) {
    if (read_.count(name) == 0) leave_out(name, reason);
  }
}

void ConfigReader::finish() {
  for (const Member& member : *members_) {
    if (read_.count(member.key) > 0) continue;
    leave_out(member.key, "not known to Takt");
    reading_->warning(member.key_place, fmt::format("{}{} is not known and is left out", prefix_, member.key),
                      "make sure that it changes neither time nor memory of a step");
  }
}

void ConfigReader::error(const std::string& name, std::string message, std::string hint) {
  read_.insert(name);
  reading_->error(place(name), std::move(message), std::move(hint));
}

void ConfigReader::refuse(const std::string& name, const std::string& why, std::string hint) {
  error(name, fmt::format("{} has no key here: {}", said(name), why), std::move(hint));
}

std::string toml_flag(bool value) {
  return value ? "true" : "false";
}

}  // namespace takt
