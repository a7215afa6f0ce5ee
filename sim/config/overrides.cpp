#include <fmt/format.h>

#include <algorithm>

#include "config/reading.hpp"
#include "config/scenario_document.hpp"
#include "config/toml_text.hpp"

namespace takt {
namespace {

SourcePlace place_on_command_line(const Override& item, std::size_t offset) {
  return {"command line", 0, static_cast<std::uint32_t>(offset + 1), item.key + '=' + item.value};
}

/// The value as TOML, or as the string it is when it is no TOML (so that `finetune.method=qlora` needs no quotes).
Node value_of(const Override& item) {
  const SourcePlace place = place_on_command_line(item, item.key.size() + 1);
  if (std::optional<Node> value = parse_toml_value(item.value, place)) return *std::move(value);
  return Node{item.value, place};
}

/// Puts the value of `item` at its key below `root`, with the tables in between.
void apply(const Override& item, Node& root, Reading& reading) {
  Node* node = &root;
  std::size_t begin = 0;
  while (true) {
    auto* table = std::get_if<Node::Table>(&node->value);
    if (!table) {
      return reading.error(place_on_command_line(item, 0),
                           fmt::format("\"{}\" is not a table, so it has no keys", item.key.substr(0, begin - 1)));
    }
    const std::size_t dot = std::min(item.key.find('.', begin), item.key.size());
    const std::string part = item.key.substr(begin, dot - begin);
    if (part.empty()) {
      return reading.error(place_on_command_line(item, begin), "an override needs a key, as in batch.micro_batch=2");
    }
    const SourcePlace key_place = place_on_command_line(item, begin);
    Member* member = find(*table, part);
    if (!member) member = &table->emplace_back(Member{part, key_place, Node{Node::Table{}, key_place}});
    if (dot == item.key.size()) {
      member->key_place = key_place;
      member->value = value_of(item);
      return;
    }
    node = &member->value;
    begin = dot + 1;
  }
}

}  // namespace

Result<Document> apply_overrides(Document document, const Overrides& overrides) {
  Reading reading;
  for (const Override& item : overrides) apply(item, document.root, reading);
  return finish(std::move(document), std::move(reading));
}

}  // namespace takt
