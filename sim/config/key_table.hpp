// The one table of a kind of file: every key with its type, range, default and meaning, and the member it fills.
//
// A table is a list of rows such as
//
//     optional_key("batch.micro_batch", at(&Scenario::batch, &BatchSettings::micro_batch), Integer{1, 65536},
//                  "sequences a rank and micro-step"),
//
// and is all there is: reading, writing and the key reference walk over it. Defaults are those of the spec's members.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/reader.hpp"
#include "config/value_kinds.hpp"

namespace takt {

/// A path of members: at(&A::b, &B::c) of an A is a.b.c.
template <class... Members>
auto at(Members... members) {
  return [members...](auto& spec) -> auto& { return (spec .* ... .* members); };
}

enum class Presence { required, optional };

/// What the table knows of a key without its spec's type.
struct KeyOutline {
  std::string path;  ///< below the table's root, e.g. "batch.micro_batch"
  Presence presence = Presence::optional;
  std::string type;
  std::string range;
  std::string meaning;
};

template <class Spec>
struct Key {
  KeyOutline outline;
  std::function<void(const Node&, const std::string& key, Spec&, Reading&)> read;
  std::function<std::string(const Spec&)> write;              ///< as TOML; empty = left out
  std::function<std::vector<KeyDescription>(const std::string& prefix)> nested;  ///< of a list of tables
};

/// The paths of a table, for look-up and for messages about keys that are unknown or missing.
class KeyIndex {
 public:
  explicit KeyIndex(std::vector<KeyOutline> outlines);

  /// Position of the key at `path`, or npos.
  std::size_t find(const std::string& path) const;
  bool is_section(const std::string& path) const;
  void add_unknown(const Member& member, const std::string& section, const std::string& prefix, Reading& reading) const;
  void add_missing(std::size_t key, const Node& root, const std::string& prefix, Reading& reading) const;
  void add_not_a_table(const Member& member, const std::string& path, Reading& reading) const;
  const KeyOutline& outline(std::size_t key) const { return outlines_[key]; }

  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

 private:
  std::vector<std::string> names_in(const std::string& section) const;
  std::string unknown_hint(const std::string& key, const std::string& section) const;

  std::vector<KeyOutline> outlines_;
  std::map<std::string, std::size_t> keys_;
  std::vector<std::string> sections_;  ///< sorted
};

/// `section` and `name` joined by a dot.
std::string dotted(const std::string& section, const std::string& name);

template <class Spec>
class KeyTable {
 public:
  explicit KeyTable(std::vector<Key<Spec>> keys) : keys_(std::move(keys)), index_(outlines(keys_)) {}

  /// Reads a table node into `spec`. Adds an error for each key that is unknown, wrong or missing, and the place of each
  /// key that was read. `prefix` is the path of `root` in its file, e.g. "link[3]".
  void read(const Node& root, const std::string& prefix, Spec& spec, Reading& reading) const {
    std::vector<bool> seen(keys_.size(), false);
    read_section(root, "", prefix, spec, seen, reading);
    for (std::size_t key = 0; key < keys_.size(); ++key) {
      if (keys_[key].outline.presence == Presence::required && !seen[key]) {
        index_.add_missing(key, root, prefix, reading);
      }
    }
  }

  /// As read(), but a missing key is no error.
  void read_present(const Node& root, Spec& spec, Reading& reading) const {
    std::vector<bool> seen(keys_.size(), false);
    read_section(root, "", "", spec, seen, reading);
  }

  /// What the table knows of the key at `path`; null if there is none.
  const KeyOutline* outline(const std::string& path) const {
    const std::size_t key = index_.find(path);
    return key == KeyIndex::npos ? nullptr : &index_.outline(key);
  }

  /// Key paths with their values as TOML, in the order of the table; keys that are left out have an empty value.
  std::vector<std::pair<std::string, std::string>> write(const Spec& spec) const {
    std::vector<std::pair<std::string, std::string>> lines;
    lines.reserve(keys_.size());
    for (const Key<Spec>& key : keys_) lines.emplace_back(key.outline.path, key.write(spec));
    return lines;
  }

  /// The value of one key as TOML.
  std::string write(const std::string& path, const Spec& spec) const {
    const std::size_t key = index_.find(path);
    expects(key != KeyIndex::npos, "write() of a key that is in the table");
    return keys_[key].write(spec);
  }

  /// The rows of the key reference.
  std::vector<KeyDescription> describe(const std::string& prefix = "") const {
    const Spec defaults{};
    std::vector<KeyDescription> rows;
    for (const Key<Spec>& key : keys_) {
      const KeyOutline& outline = key.outline;
      const std::string path = dotted(prefix, outline.path);
      const std::string value = outline.presence == Presence::required ? "required" : key.write(defaults);
      rows.push_back({path, outline.type, value, outline.range, outline.meaning});
      if (!key.nested) continue;
      for (KeyDescription& row : key.nested(path + "[]")) rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  static std::vector<KeyOutline> outlines(const std::vector<Key<Spec>>& keys) {
    std::vector<KeyOutline> all;
    for (const Key<Spec>& key : keys) all.push_back(key.outline);
    return all;
  }

  void read_section(const Node& node, const std::string& section, const std::string& prefix, Spec& spec,
                    std::vector<bool>& seen, Reading& reading) const {
    for (const Member& member : std::get<Node::Table>(node.value)) {
      const std::string path = dotted(section, member.key);
      if (member.key.find('.') != std::string::npos) {  // a dotted path in quotes
        index_.add_unknown(member, section, prefix, reading);
      } else if (const std::size_t key = index_.find(path); key != KeyIndex::npos) {
        const std::string full_path = dotted(prefix, path);
        seen[key] = true;
        reading.places[full_path] = member.value.place;
        const std::size_t messages = reading.diagnostics.size();
        keys_[key].read(member.value, full_path, spec, reading);
        if (reading.diagnostics.size() > messages) reading.unsound.insert(full_path);
      } else if (!index_.is_section(path)) {
        index_.add_unknown(member, section, prefix, reading);
      } else if (member.value.as<Node::Table>()) {
        read_section(member.value, path, prefix, spec, seen, reading);
      } else {
        index_.add_not_a_table(member, dotted(prefix, path), reading);
      }
    }
  }

  std::vector<Key<Spec>> keys_;
  KeyIndex index_;
};

/// A row: `member` reaches the value in a spec, `kind` (value_kinds.hpp) reads and writes it.
template <class Spec, class Access, class Kind>
Key<Spec> make_key(Presence presence, std::string path, Access member, Kind kind, std::string meaning) {
  return {{std::move(path), presence, kind.type(), kind.range(), std::move(meaning)},
          [member, kind](const Node& node, const std::string& key, Spec& spec, Reading& reading) {
            kind.read(node, key, member(spec), reading);
          },
          [member, kind](const Spec& spec) { return kind.write(member(spec)); },
          {}};
}

/// The two words of a table for `Spec`; made once per table so that rows stay short.
template <class Spec>
struct KeyMaker {
  template <class Access, class Kind>
  Key<Spec> required(std::string path, Access member, Kind kind, std::string meaning) const {
    return make_key<Spec>(Presence::required, std::move(path), member, std::move(kind), std::move(meaning));
  }
  template <class Access, class Kind>
  Key<Spec> optional(std::string path, Access member, Kind kind, std::string meaning) const {
    return make_key<Spec>(Presence::optional, std::move(path), member, std::move(kind), std::move(meaning));
  }

  /// `[[path]]`: a list of tables, each read by `entries` into an element with a `place`. `entries` must outlive the
  /// row (tables are static).
  template <class Access, class Entry>
  Key<Spec> list(std::string path, Access member, const KeyTable<Entry>& entries, std::string meaning) const {
    const auto read = [member, &entries](const Node& node, const std::string& key, Spec& spec, Reading& reading) {
      const auto* items = node.as<Node::Array>();
      if (!items) return reading.error(node.place, key + " must be a list of tables", "write [[" + key + "]]");
      for (std::size_t i = 0; i < items->size(); ++i) {
        const Node& item = (*items)[i];
        const std::string name = key + '[' + std::to_string(i) + ']';
        if (!item.as<Node::Table>()) {
          reading.error(item.place, name + " must be a table, not " + takt::describe(item), "write [[" + key + "]]");
          continue;
        }
        Entry entry{};
        entry.place = item.place;
        entries.read(item, name, entry, reading);
        member(spec).push_back(std::move(entry));
      }
    };
    const auto nested = [&entries](const std::string& prefix) { return entries.describe(prefix); };
    return {{std::move(path), Presence::optional, "list of tables", "", std::move(meaning)},
            read,
            [](const Spec&) { return std::string(); },
            nested};
  }
};

/// The stem of a file's name, which is the id of what it describes: "a/h200-nvl.toml" -> "h200-nvl".
std::string file_stem(const std::string& file);

}  // namespace takt
