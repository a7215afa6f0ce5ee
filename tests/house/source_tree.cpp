#include "house/source_tree.hpp"

#include "support/source_dir.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <regex>

namespace takt::house {

namespace fs = std::filesystem;

std::vector<SourceFile> files_under(const std::string& folder, const std::vector<std::string>& endings) {
  const fs::path root = takt::test::source_dir();
  std::vector<SourceFile> files;
  if (!fs::exists(root / folder)) return files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
    const std::string path = entry.path().lexically_relative(root).generic_string();
    const bool wanted =
        std::any_of(endings.begin(), endings.end(), [&](const std::string& e) { return path.ends_with(e); });
    if (!entry.is_regular_file() || !wanted) continue;
    SourceFile file{path, {}};
    std::ifstream stream(entry.path());
    for (std::string line; std::getline(stream, line);) file.lines.push_back(line);
    files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end(), [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

std::vector<Include> includes_of(const SourceFile& file) {
  static const std::regex directive(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> includes;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::smatch match;
    if (std::regex_search(file.lines[i], match, directive)) includes.push_back({match[2], match[1] == "<", i + 1});
  }
  return includes;
}

std::string floor_of(const std::string& path) {
  const std::string inside = path.starts_with("sim/") ? path.substr(4) : path;
  const std::size_t slash = inside.find('/');
  return slash == std::string::npos ? "" : inside.substr(0, slash);
}

std::string place(const SourceFile& file, std::size_t line) {
  return file.path + ':' + std::to_string(line);
}

}  // namespace takt::house
