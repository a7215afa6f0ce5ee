#include "config/node.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/toml_text.hpp"

namespace takt {
namespace {

template <class Table>
auto find_in(Table& table, std::string_view key) {
  const auto found = std::find_if(table.begin(), table.end(), [key](const Member& m) { return m.key == key; });
  return found == table.end() ? nullptr : &*found;
}

struct Describe {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("the number {}", value); }
  std::string operator()(double value) const { return "the number " + toml_float(value); }
  std::string operator()(const std::string& value) const { return fmt::format("the text \"{}\"", value); }
  std::string operator()(const Node::Array&) const { return "a list"; }
  std::string operator()(const Node::Table&) const { return "a table"; }
};

}  // namespace

const Member* find(const Node::Table& table, std::string_view key) { return find_in(table, key); }
Member* find(Node::Table& table, std::string_view key) { return find_in(table, key); }

const Node* find_path(const Node& root, std::string_view path) {
  const Node* node = &root;
  while (!path.empty()) {
    const auto* table = node->as<Node::Table>();
    const std::size_t dot = std::min(path.find('.'), path.size());
    const Member* member = table ? find(*table, path.substr(0, dot)) : nullptr;
    if (!member) return nullptr;
    node = &member->value;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

std::string describe(const Node& node) { return std::visit(Describe{}, node.value); }

}  // namespace takt
