// Scenario files: text or tree to Scenario, and back.
#include <fmt/format.h>

#include "base/text.hpp"
#include "config/scenario_checks.hpp"
#include "config/scenario_document.hpp"
#include "config/scenario_keys.hpp"
#include "config/toml_text.hpp"

namespace takt {
namespace {

/// Of everything that decides a result: not of the title.
std::uint64_t hash_of(const Scenario& scenario) {
  std::uint64_t hash = stable_hash("takt.scenario/1");
  for (const auto& [path, value] : scenario_keys().write(scenario)) {
    if (path != "title") hash = stable_hash(value, stable_hash(path, hash));
  }
  return hash;
}

Result<Scenario> read(const Document& document) {
  Scenario scenario;
  Reading reading;
  scenario.file = document.file;
  scenario.name = file_stem(document.file);
  scenario_keys().read(document.root, "", scenario, reading);
  resolve_defaults(scenario, reading);
  check_scenario(scenario, reading);
  scenario.places = std::move(reading.places);
  scenario.hash = hash_of(scenario);
  return finish(std::move(scenario), std::move(reading));
}

}  // namespace

Result<Document> parse_scenario(const SourceText& source) { return parse_toml(source); }

Result<Scenario> scenario_from(const Document& document, const Overrides& overrides) {
  if (overrides.empty()) return read(document);
  const Result<Document> changed = apply_overrides(document, overrides);
  if (!changed) return changed.diagnostics();
  return read(*changed);
}

Result<Scenario> scenario_with(const Document& document, const NodeChanges& changes) {
  const Result<Document> changed = apply_changes(document, changes);
  if (!changed) return changed.diagnostics();
  return read(*changed);
}

Result<Scenario> read_scenario(const SourceText& source, const Overrides& overrides) {
  const Result<Document> document = parse_scenario(source);
  if (!document) return document.diagnostics();
  return scenario_from(*document, overrides);
}

std::string write_scenario(const Scenario& scenario) {
  std::string text;
  std::string section;
  for (const auto& [path, value] : scenario_keys().write(scenario)) {
    if (value.empty()) continue;
    const std::size_t dot = path.rfind('.');
    const std::string here = dot == std::string::npos ? "" : path.substr(0, dot);
    if (here != section) {
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", here);
      section = here;
    }
    text += fmt::format("{} = {}\n", path.substr(dot == std::string::npos ? 0 : dot + 1), value);
  }
  return text;
}

}  // namespace takt
