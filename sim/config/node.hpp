// A TOML document as a tree of our own, so that toml++ stays in toml_text.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/source.hpp"

namespace takt {

struct Member;

/// One value of a document with the place where it stands.
struct Node {
  using Array = std::vector<Node>;
  using Table = std::vector<Member>;  ///< keys are unique; sorted by key as parsed, overrides at the end

  std::variant<bool, std::int64_t, double, std::string, Array, Table> value;
  SourcePlace place;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&value);
  }
};

/// `key = value`.
struct Member {
  std::string key;
  SourcePlace key_place;
  Node value;
};

/// A whole file. `root` is always a table.
struct Document {
  std::string file;
  Node root;
};

/// The member of a table, or null.
const Member* find(const Node::Table& table, std::string_view key);
Member* find(Node::Table& table, std::string_view key);

/// The value at a dotted path below `root`, or null: "finetune.lora.rank".
const Node* find_path(const Node& root, std::string_view path);

/// What a value is, for messages: `the text "two"`, `the number 3`, `a list`, `a table`.
std::string describe(const Node& node);

}  // namespace takt
