// One mapping of a foreign configuration file, read field by field. Fields that nobody asked for are reported at the
// end, so that nothing of a file is dropped in silence.
#pragma once

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "config/import/imported.hpp"
#include "config/node.hpp"
#include "config/reading.hpp"

namespace takt {

class ConfigReader {
 public:
  /// `prefix` is the mapping's path in its file with a dot at its end, or empty. All references must outlive the reader.
  ConfigReader(const Node& table, std::string prefix, ImportedConfig& config, Reading& reading);

  /// Whether the field stands in the file; it then counts as read.
  const Node* field(const std::string& name);
  bool has(const std::string& name) const;

  /// The field's value; nothing if it is missing, "auto" or wrong (which is an error). Flags may stand in quotes and
  /// whole numbers may be written as 5e8, as the programs accept them.
  std::optional<bool> flag(const std::string& name);
  std::optional<std::int64_t> whole(const std::string& name, std::int64_t smallest, std::int64_t largest);
  std::optional<double> number(const std::string& name, double smallest, double largest);
  /// A text; flags and numbers as they are written ("no" may come as false).
  std::optional<std::string> word(const std::string& name);
  /// A mapping below this one, or nothing; anything else there is an error.
  std::optional<ConfigReader> section(const std::string& name);

  /// The field implies `key = toml`.
  void imply(const std::string& name, const std::string& key, const std::string& toml);
  /// The program's default implies `key = toml`, as `said` puts it.
  void imply_default(const std::string& key, const std::string& toml, const std::string& said);

  /// The field says "auto", which stands for square h^2 + linear h elements of a model of hidden size h.
  bool says_auto(const std::string& name) const;
  void imply_by_hidden_size(const std::string& name, const std::string& key, double square, double linear);

  void leave_out(const std::string& name, const std::string& reason);
  /// Those of them that were not asked for yet.
  void leave_out(std::initializer_list<const char*> names, const std::string& reason);
  /// Reports what was not asked for as unknown: left out, with a warning.
  void finish();

  void error(const std::string& name, std::string message, std::string hint = "");
  /// What `name` says has no key of a scenario: an error.
  void refuse(const std::string& name, const std::string& why, std::string hint = "");

 private:
  SourcePlace place(const std::string& name) const;
  std::string said(const std::string& name) const;
  bool is_auto(const Node& node) const;
  void wrong(const std::string& name, const Node& node, const std::string& expected);

  const Node::Table* members_;
  SourcePlace table_place_;
  std::string prefix_;
  ImportedConfig* config_;
  Reading* reading_;
  std::set<std::string> read_;
};

/// TOML of a value.
std::string toml_flag(bool value);

}  // namespace takt
