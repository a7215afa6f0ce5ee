#include "config/library.hpp"

#include "base/text.hpp"
#include "config/key_table.hpp"
#include "config/toml_text.hpp"
#include "config/words.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>

namespace takt {
namespace {

namespace fs = std::filesystem;

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// Whether a name is meant as a path: it has a folder or an ending that data files have.
bool looks_like_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".toml") || name.ends_with(".json");
}

std::string in_folder(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + '/' + name;
}

/// The folder of a file as it was named; empty for a bare name.
std::string folder_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash);
}

std::string executable_folder() {
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  return error ? "" : executable.parent_path().string();
}

/// The stems of the TOML files in `folder`/`kind` for each search folder, sorted, each once.
std::vector<std::string> names_in(const SearchPath& path, const std::vector<std::string>& kinds) {
  std::set<std::string> names;
  for (const std::string& folder : path.folders) {
    for (const std::string& kind : kinds) {
      std::error_code ignored;
      for (const fs::directory_entry& entry : fs::directory_iterator(in_folder(folder, kind), ignored)) {
        if (entry.path().extension() == ".toml") names.insert(entry.path().stem().string());
      }
    }
  }
  return {names.begin(), names.end()};
}

/// What is asked for: `noun` for messages, `kinds` the folders it may be in.
struct Shelf {
  std::string noun;
  std::vector<std::string> kinds;
};

const Shelf models{"model", {"models"}};
const Shelf cards{"card", {"topologies/cards"}};
const Shelf servers{"server", {"topologies/servers"}};
const Shelf topologies{"server or cluster", {"topologies/servers", "topologies/clusters"}};

Diagnostic not_found(const SearchPath& path, const Shelf& shelf, const std::string& name, const SourcePlace& asked_at) {
  const bool as_path = looks_like_path(name);
  Diagnostic diagnostic{Severity::error, asked_at, fmt::format("there is no {} \"{}\"", shelf.noun, name), ""};
  if (as_path) diagnostic.message = fmt::format("there is no file \"{}\"", name);
  const std::vector<std::string> known = names_in(path, shelf.kinds);
  const std::string wanted = as_path ? file_stem(name) : name;
  if (const std::optional<std::string> near = did_you_mean(wanted, known)) {
    diagnostic.hint = fmt::format("did you mean \"{}\"?", *near);
    return diagnostic;
  }
  std::vector<std::string> similar;
  std::copy_if(known.begin(), known.end(), std::back_inserter(similar), [&](const std::string& candidate) {
    return candidate.find(wanted) != std::string::npos || wanted.find(candidate) != std::string::npos;
  });
  std::vector<std::string> shown = similar.empty() ? known : similar;
  constexpr std::size_t most_shown = 12;
  const std::size_t left_out = shown.size() - std::min(shown.size(), most_shown);
  shown.resize(shown.size() - left_out);
  diagnostic.hint = shown.empty() ? fmt::format("no folder of {} has {}", join(path.folders, ":"), shelf.kinds.front())
                                  : fmt::format("there is {}", join(shown, ", "));
  if (left_out > 0) diagnostic.hint += fmt::format(" and {} more", left_out);
  return diagnostic;
}

/// Results by the file they were read from and the changes to it, each read once.
template <class Spec>
class Shelved {
 public:
  template <class Read>
  const Result<Spec>& get(const std::string& file, const std::string& changes, Read read) {
    const std::string name = changes.empty() ? file : file + '\n' + changes;
    auto found = specs_.find(name);
    if (found != specs_.end()) return found->second;
    const Result<SourceText> text = read_text_file(file);
    Result<Spec> result = text ? read(*text) : Result<Spec>(text.diagnostics());
    return specs_.emplace(name, std::move(result)).first->second;
  }

 private:
  std::map<std::string, Result<Spec>> specs_;
};

}  // namespace

SearchPath search_path(const char* takt_path) {
  SearchPath path;
  const std::string text = takt_path ? takt_path : "";
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    if (end > begin) path.folders.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::error_code ignored;
  const std::string beside = executable_folder() + "/../share/takt";
  if (fs::is_directory(beside, ignored)) path.folders.push_back(beside);
  path.folders.emplace_back(TAKT_DATA_DIR);
  return path;
}

struct Library::Impl {
  std::mutex mutex;                                         ///< guards all that follows
  SearchPath path;
  std::map<std::string, std::optional<std::string>> files;  ///< where a name was found, by shelf, folder and name
  std::map<std::string, bool> cluster_files;                ///< of files beside the shelves: whether one is a cluster
  Shelved<ModelSpec> models;
  Shelved<CardSpec> card_files;
  Shelved<ServerSpec> servers;
  Shelved<ClusterSpec> clusters;
  std::map<std::string, Result<std::map<std::string, LinkType>>> link_types;  ///< by the changes to them

  /// The file of `name`: as a path from here or from the folder of the file that asks, else on the shelf.
  std::optional<std::string> find(const Shelf& shelf, const std::string& name, const SourcePlace& asked_at) {
    const std::string asking_folder = looks_like_path(name) ? folder_of(asked_at.file) : "";
    std::optional<std::string>& found =
        files.try_emplace(shelf.noun + '\n' + asking_folder + '\n' + name).first->second;
    if (!found) found = search(shelf, name, asking_folder);
    return found;
  }

  std::optional<std::string> search(const Shelf& shelf, const std::string& name, const std::string& asking_folder) {
    if (looks_like_path(name)) {
      if (is_file(name)) return name;
      if (name.front() != '/' && !asking_folder.empty() && is_file(in_folder(asking_folder, name))) {
        return in_folder(asking_folder, name);
      }
    }
    for (const std::string& folder : path.folders) {
      for (const std::string& kind : shelf.kinds) {
        const std::string file = in_folder(folder, kind + '/' + name);
        if (is_file(file + ".toml")) return file + ".toml";
      }
    }
    return std::nullopt;
  }

  /// The kinds of links of all search folders; where two describe the same kind, the first folder wins.
  const Result<std::map<std::string, LinkType>>& all_link_types(const NodeChanges& changes) {
    const std::string name = text_of(changes);
    const auto found = link_types.find(name);
    return found != link_types.end() ? found->second : link_types.emplace(name, read_link_types(changes)).first->second;
  }

  Result<std::map<std::string, LinkType>> read_link_types(const NodeChanges& changes) const {
    std::map<std::string, LinkType> all;
    std::set<std::string> changed;
    Diagnostics diagnostics;
    for (const std::string& folder : path.folders) {
      const std::string file = in_folder(folder, "topologies/links.toml");
      if (!is_file(file)) continue;
      const Result<SourceText> text = read_text_file(file);
      const auto types = text ? with_changes(*text, changes, changed) : Result<std::map<std::string, LinkType>>(text.diagnostics());
      diagnostics.insert(diagnostics.end(), types.diagnostics().begin(), types.diagnostics().end());
      if (types) all.insert(types->begin(), types->end());
    }
    for (const NodeChange& change : changes) {
      const std::string kind = change.key.substr(0, change.key.find('.'));
      if (changed.count(kind) > 0) continue;
      std::vector<std::string> known;
      for (const auto& [id, type] : all) known.push_back(id);
      const std::optional<std::string> near = did_you_mean(kind, known);
      diagnostics.push_back({Severity::error, change.key_place, fmt::format("there is no kind of link \"{}\"", kind),
                             near ? fmt::format("did you mean \"{}\"?", *near) : "see topologies/links.toml"});
    }
    if (has_error(diagnostics)) return diagnostics;
    return {std::move(all), std::move(diagnostics)};
  }

  /// A card's file with the residuals that lie beside it and, where it says `like`, the constants of the other card.
  Result<CardSpec> card_in(const std::string& file, const HardwareChanges& changes) {
    const NodeChanges own = changes_of_card(changes, file_stem(file));
    return card_files.get(file, text_of(own), [&](const SourceText& text) -> Result<CardSpec> {
      Result<CardSpec> card = read_card(text, own);
      if (!card) return card;
      Diagnostics errors;
      for (auto& [precision, calibration] : card->gemm) complete(calibration, precision, *card, errors);
      if (!errors.empty()) return errors;
      return card;
    });
  }

  void complete(GemmCalibration& calibration, Precision precision, const CardSpec& card, Diagnostics& errors) {
    const std::string section = fmt::format("gemm.{}.", word(precision));
    const auto add = [&errors](const Diagnostics& more) { errors.insert(errors.end(), more.begin(), more.end()); };
    if (!calibration.residual_file.empty()) {
      const std::string file = in_folder(folder_of(card.file), calibration.residual_file);
      const Result<SourceText> text = read_text_file(file);
      const auto residuals = text ? read_gemm_residuals(*text) : Result<GemmResiduals>(text.diagnostics());
      if (!residuals) return add(residuals.diagnostics());
      calibration.residuals = std::make_shared<const GemmResiduals>(*residuals);
    }
    if (calibration.like.empty()) return;
    const SourcePlace place = place_of(card.places, section + "like", card.file);
    const std::optional<std::string> file = find(cards, calibration.like, place);
    if (!file) return add({not_found(path, cards, calibration.like, place)});
    const Result<CardSpec> other = *file == card.file ? Result<CardSpec>(card) : card_in(*file, {});
    if (!other) return add(other.diagnostics());
    const auto found = other->gemm.find(precision);
    if (found == other->gemm.end() || !found->second.like.empty()) {
      return add({{Severity::error, place,
                   fmt::format("{} has no {} calibration of its own", calibration.like, word(precision)),
                   "name a card whose file has the constants"}});
    }
    const double efficiency = calibration.constants.efficiency;
    calibration.constants = found->second.constants;
    if (card.places.count(section + "efficiency") > 0) calibration.constants.efficiency = efficiency;
    calibration.residuals = found->second.residuals;
  }

  /// The kinds of links of one file; adds the names of those that `changes` changed.
  static Result<std::map<std::string, LinkType>> with_changes(const SourceText& text, const NodeChanges& changes,
                                                              std::set<std::string>& changed) {
    if (changes.empty()) return takt::read_link_types(text);
    const Result<Document> document = parse_toml(text);
    if (!document) return document.diagnostics();
    NodeChanges own;
    for (const NodeChange& change : changes) {
      const std::string kind = change.key.substr(0, change.key.find('.'));
      if (find_path(document->root, kind) == nullptr) continue;
      changed.insert(kind);
      own.push_back(change);
    }
    return takt::read_link_types(text, own);
  }

  Result<ServerSpec> server_in(const std::string& file, const HardwareChanges& changes) {
    return servers.get(file, text_of(changes.links) + '\n' + text_of(changes.server),
                       [&](const SourceText& text) -> Result<ServerSpec> {
                         const auto& types = all_link_types(changes.links);
                         if (!types) return types.diagnostics();
                         return read_server(text, *types, changes.server);
                       });
  }

  /// Whether a topology file describes a cluster: it is on the clusters' shelf, or it names a server.
  bool is_cluster(const std::string& file) {
    if (folder_of(file).ends_with("topologies/clusters")) return true;
    if (folder_of(file).ends_with("topologies/servers")) return false;
    const auto [entry, is_new] = cluster_files.try_emplace(file, false);
    if (is_new) {
      const Result<SourceText> text = read_text_file(file);
      const Result<Document> document = text ? parse_toml(*text) : Result<Document>(text.diagnostics());
      entry->second = document && find_path(document->root, "server") != nullptr;
    }
    return entry->second;
  }
};

Library::Library(SearchPath path) : impl_(std::make_unique<Impl>()) {
  impl_->path = std::move(path);
}
Library::~Library() = default;

Result<ModelSpec> Library::model(const std::string& name, const SourcePlace& asked_at) {
  const std::lock_guard lock(impl_->mutex);
  const std::optional<std::string> file = impl_->find(models, name, asked_at);
  if (!file) return not_found(impl_->path, models, name, asked_at);
  const bool is_json = file->ends_with(".json");
  return impl_->models.get(*file, "", [is_json](const SourceText& text) {
    return is_json ? read_hf_config(text) : read_model(text);
  });
}

Result<CardSpec> Library::card(const std::string& name, const SourcePlace& asked_at, const HardwareChanges& changes) {
  const std::lock_guard lock(impl_->mutex);
  const std::optional<std::string> file = impl_->find(cards, name, asked_at);
  if (!file) return not_found(impl_->path, cards, name, asked_at);
  return impl_->card_in(*file, changes);
}

Result<ServerSpec> Library::server(const std::string& name, const SourcePlace& asked_at,
                                   const HardwareChanges& changes) {
  const std::lock_guard lock(impl_->mutex);
  const std::optional<std::string> file = impl_->find(servers, name, asked_at);
  if (!file) return not_found(impl_->path, servers, name, asked_at);
  return impl_->server_in(*file, changes);
}

Result<std::variant<ServerSpec, ClusterSpec>> Library::topology(const std::string& name, const SourcePlace& asked_at,
                                                                const HardwareChanges& changes) {
  using Either = std::variant<ServerSpec, ClusterSpec>;
  const std::lock_guard lock(impl_->mutex);
  const std::optional<std::string> file = impl_->find(topologies, name, asked_at);
  if (!file) return not_found(impl_->path, topologies, name, asked_at);
  if (!impl_->is_cluster(*file)) {
    Result<ServerSpec> server = impl_->server_in(*file, changes);
    if (!server) return server.diagnostics();
    Diagnostics warnings = server.diagnostics();
    return {Either(std::move(server).value()), std::move(warnings)};
  }
  Result<ClusterSpec> cluster =
      impl_->clusters.get(*file, text_of(changes.cluster),
                          [&](const SourceText& text) { return read_cluster(text, changes.cluster); });
  if (!cluster) return cluster.diagnostics();
  Diagnostics warnings = cluster.diagnostics();
  return {Either(std::move(cluster).value()), std::move(warnings)};
}

Result<std::map<std::string, LinkType>> Library::link_types(const HardwareChanges& changes) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->all_link_types(changes.links);
}

std::vector<std::string> Library::model_names() const {
  return names_in(impl_->path, models.kinds);
}
std::vector<std::string> Library::topology_names() const {
  return names_in(impl_->path, topologies.kinds);
}
std::vector<std::string> Library::card_names() const {
  return names_in(impl_->path, cards.kinds);
}

}  // namespace takt
