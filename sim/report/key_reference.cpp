// Every key that a file may hold, from the tables that the readers themselves use.
#include "config/jobs.hpp"
#include "config/reader.hpp"
#include "report/report.hpp"
#include "report/table.hpp"

#include <vector>

namespace takt {
namespace {

struct FileKind {
  const char* title;
  std::vector<KeyDescription> keys;
};

std::vector<FileKind> file_kinds() {
  return {{"Scenario (scenarios/*.toml)", scenario_key_reference()},
          {"Jobs (scenarios/jobs/*.toml)", job_key_reference()},
          {"Card (topologies/cards/*.toml)", card_key_reference()},
          {"Server (topologies/servers/*.toml)", server_key_reference()},
          {"Cluster (topologies/clusters/*.toml)", cluster_key_reference()},
          {"Model (models/*.toml)", model_key_reference()},
          {"Kinds of links (topologies/links.toml)", link_key_reference()}};
}

std::string code(const std::string& text) {
  return text.empty() ? "" : '`' + text + '`';
}

std::string as_markdown(const FileKind& kind) {
  Table table({{"key"}, {"type"}, {"default"}, {"range"}, {"meaning"}});
  for (const KeyDescription& key : kind.keys) {
    const std::string fallback = key.default_ == "required" ? key.default_ : code(key.default_);
    table.row({code(key.path), key.type, fallback, key.range, key.meaning});
  }
  return "### " + std::string(kind.title) + "\n\n" + table.markdown() + '\n';
}

std::string as_text(const FileKind& kind) {
  std::string text = std::string(kind.title) + '\n';
  for (const KeyDescription& key : kind.keys) {
    std::string facts = key.type;
    if (!key.range.empty()) facts += ", " + key.range;
    if (!key.default_.empty()) facts += key.default_ == "required" ? ", required" : ", default " + key.default_;
    text += "  " + key.path + '\n' + wrap(facts, screen_width, 6) + wrap(key.meaning, screen_width, 6);
  }
  return text + '\n';
}

}  // namespace

std::string key_reference(KeyFormat format) {
  std::string text;
  for (const FileKind& kind : file_kinds()) {
    text += format == KeyFormat::markdown ? as_markdown(kind) : as_text(kind);
  }
  text.pop_back();  // no empty line at the end
  return text;
}

}  // namespace takt
