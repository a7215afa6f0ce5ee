#include "config/reader.hpp"
#include "config/reading.hpp"
#include "config/scenario_document.hpp"
#include "config/toml_text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace takt {
namespace {

SourcePlace place_on_command_line(const Override& item, std::size_t offset) {
  return {"command line", 0, static_cast<std::uint32_t>(offset + 1), item.key + '=' + item.value};
}

/// The place of the part of a key that starts at `offset`: known by the column only where the key stands as written.
SourcePlace place_of_part(const NodeChange& change, std::size_t offset) {
  SourcePlace place = change.key_place;
  if (place.line == 0) place.column += static_cast<std::uint32_t>(offset);
  return place;
}

/// Puts the value of `change` at its key below `root`, with the tables in between.
void apply(const NodeChange& change, Node& root, Reading& reading) {
  Node* node = &root;
  std::size_t begin = 0;
  while (true) {
    auto* table = std::get_if<Node::Table>(&node->value);
    if (!table) {
      return reading.error(place_of_part(change, 0),
                           fmt::format("\"{}\" is not a table, so it has no keys", change.key.substr(0, begin - 1)));
    }
    const std::size_t dot = std::min(change.key.find('.', begin), change.key.size());
    const std::string part = change.key.substr(begin, dot - begin);
    const SourcePlace key_place = place_of_part(change, begin);
    if (part.empty()) return reading.error(key_place, "an override needs a key, as in batch.micro_batch=2");
    Member* member = find(*table, part);
    if (!member) member = &table->emplace_back(Member{part, key_place, Node{Node::Table{}, key_place}});
    if (dot == change.key.size()) {
      member->key_place = key_place;
      member->value = change.value;
      return;
    }
    node = &member->value;
    begin = dot + 1;
  }
}

void collect_leaves(const Node::Table& table, const std::string& path, NodeChanges& leaves) {
  for (const Member& member : table) {
    const std::string key = path.empty() ? member.key : path + '.' + member.key;
    if (const auto* inner = member.value.as<Node::Table>())
      collect_leaves(*inner, key, leaves);
    else
      leaves.push_back({key, member.key_place, member.value});
  }
}

}  // namespace

NodeChange change_of(const Override& item) {
  const SourcePlace place = place_on_command_line(item, item.key.size() + 1);
  NodeChange change{item.key, place_on_command_line(item, 0), Node{item.value, place}};
  if (std::optional<Node> value = parse_toml_value(item.value, place)) change.value = *std::move(value);
  return change;
}

Result<Document> apply_changes(Document document, const NodeChanges& changes) {
  Reading reading;
  for (const NodeChange& change : changes) apply(change, document.root, reading);
  return finish(std::move(document), std::move(reading));
}

Result<Document> apply_overrides(Document document, const Overrides& overrides) {
  NodeChanges changes;
  for (const Override& item : overrides) changes.push_back(change_of(item));
  return apply_changes(std::move(document), changes);
}

Result<Document> parse_changed(const SourceText& source, const NodeChanges& changes) {
  Result<Document> document = parse_toml(source);
  if (!document || changes.empty()) return document;
  return apply_changes(std::move(*document), changes);
}

NodeChanges changes_of_card(const HardwareChanges& changes, const std::string& card) {
  NodeChanges own;
  for (const NodeChange& change : changes.cards) {
    if (!change.key.starts_with(card + '.')) continue;
    own.push_back({change.key.substr(card.size() + 1), change.key_place, change.value});
  }
  return own;
}

NodeChanges leaves_of(const Node& table) {
  NodeChanges leaves;
  if (const auto* members = table.as<Node::Table>()) collect_leaves(*members, "", leaves);
  return leaves;
}

std::string text_of(const NodeChanges& changes) {
  std::string text;
  for (const NodeChange& change : changes) text += change.key + " = " + toml_value(change.value) + '\n';
  return text;
}

std::string inline_table(const NodeChanges& changes) {
  std::string text;
  for (const NodeChange& change : changes) {
    text += (text.empty() ? "{ " : ", ") + change.key + " = " + toml_value(change.value);
  }
  return text.empty() ? "{}" : text + " }";
}

}  // namespace takt
