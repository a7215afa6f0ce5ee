// Whole runs of the project's own scenarios, for tests.
#pragma once

#include "pipeline.hpp"
#include "support/source_dir.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace takt::test {

/// Names of the files in scenarios/, in order.
inline std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(takt::test::source_dir() + "/scenarios")) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Runs scenarios/`name`.toml, which must be valid; its file is named as from the project's root.
inline FinishedRun finished(const std::string& name, const Overrides& overrides = {}, const RunOptions& options = {}) {
  SourceText source = read_text_file(takt::test::source_dir() + "/scenarios/" + name + ".toml").value();
  source.file = "scenarios/" + name + ".toml";
  Library library(search_path(nullptr));
  Result<FinishedRun> run = takt::run(source, overrides, library, options);
  if (!run) throw std::runtime_error(render(run.diagnostics()));
  return std::move(*run);
}

inline const Override one_micro_step = {"batch.gradient_accumulation", "1"};

}  // namespace takt::test
