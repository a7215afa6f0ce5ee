// Finds models, cards, servers and clusters by name: in the folders of TAKT_PATH, then in Takt's own data folder.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "config/reader.hpp"

namespace takt {

/// The folders to search, first match wins. Each may have models/, topologies/{cards,servers,clusters}/ and
/// topologies/links.toml.
struct SearchPath {
  std::vector<std::string> folders;
};

/// What the environment variable TAKT_PATH (colon-separated) adds before the built-in data folder.
SearchPath search_path(const char* takt_path);

/// Reads data files once and keeps them, changed files once a set of changes. Safe for use from several threads at once.
class Library {
 public:
  explicit Library(SearchPath path);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// `name` is an id or a path to a file. `asked_at` is where the user named it, for the message when nothing is found
  /// (which lists near names).
  Result<ModelSpec> model(const std::string& name, const SourcePlace& asked_at);
  /// Hardware takes `changes`, which hold instead of what its files say.
  Result<CardSpec> card(const std::string& name, const SourcePlace& asked_at, const HardwareChanges& changes = {});
  Result<std::variant<ServerSpec, ClusterSpec>> topology(const std::string& name, const SourcePlace& asked_at,
                                                         const HardwareChanges& changes = {});
  Result<ServerSpec> server(const std::string& name, const SourcePlace& asked_at, const HardwareChanges& changes = {});

  /// The kinds of links of all search folders.
  Result<std::map<std::string, LinkType>> link_types(const HardwareChanges& changes = {});

  std::vector<std::string> model_names() const;
  std::vector<std::string> topology_names() const;
  std::vector<std::string> card_names() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace takt
