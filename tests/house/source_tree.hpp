// The project's own source files as the house tests look at them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace takt::house {

struct SourceFile {
  std::string path;  ///< from the project's root, "sim/engine/run.cpp"
  std::vector<std::string> lines;
};

struct Include {
  std::string path;  ///< as written between quotes or angles
  bool angled = false;
  std::size_t line = 0;  ///< from 1
};

/// Files under `folder` (from the root) whose name ends in one of `endings`, by path.
std::vector<SourceFile> files_under(const std::string& folder, const std::vector<std::string>& endings);

std::vector<Include> includes_of(const SourceFile& file);

/// "engine" of "sim/engine/run.cpp", and of "engine/run.hpp"; empty for other paths.
std::string floor_of(const std::string& path);

/// "sim/engine/run.cpp:12".
std::string place(const SourceFile& file, std::size_t line);

inline bool is_header(const SourceFile& file) {
  return file.path.ends_with(".hpp");
}

}  // namespace takt::house
