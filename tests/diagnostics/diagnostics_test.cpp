// Bad files and the full text of what we say about them: see README.md in this folder.
#include "calibration/measurements.hpp"
#include "catch.hpp"
#include "config/reader.hpp"
#include "config/sweep_document.hpp"
#include "report/collective_validation.hpp"
#include "report/link_validation.hpp"
#include "report/overlap_validation.hpp"
#include "report/step_cases.hpp"
#include "support/source_dir.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

using namespace takt;

namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(takt::test::source_dir()) / "tests" / "diagnostics";

std::string text_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

Overrides overrides_beside(const fs::path& path) {
  Overrides overrides;
  std::istringstream lines(text_of(fs::path(path).replace_extension(".set")));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = std::min(line.find('='), line.size());
    overrides.push_back({line.substr(0, equals), line.substr(std::min(equals + 1, line.size()))});
  }
  return overrides;
}

/// Of a user's own rows for takt validate: which kind they are is the first word of the file's name.
Diagnostics validation_messages(const SourceText& source) {
  const std::string kind = source.file.substr(0, source.file.find('-'));
  if (kind == "links") return read_link_cases(source).diagnostics();
  if (kind == "kernels") return read_gemm_points(source).diagnostics();
  if (kind == "collectives") return read_collective_cases(source).diagnostics();
  if (kind == "overlap") return read_interference_cases(source).diagnostics();
  if (kind == "steps") return read_step_cases(source).diagnostics();
  throw std::runtime_error("no reader for rows of " + kind);
}

/// What the reader for the case's folder says about it.
std::string messages(const fs::path& path) {
  const SourceText source{path.filename().string(), text_of(path)};
  const std::string kind = path.parent_path().filename().string();
  if (kind == "scenario") return render(read_scenario(source, overrides_beside(path)).diagnostics());
  if (kind == "sweep") return render(parse_sweep(source, overrides_beside(path)).diagnostics());
  if (kind == "card") return render(read_card(source).diagnostics());
  if (kind == "cluster") return render(read_cluster(source).diagnostics());
  if (kind == "model") return render(read_model(source).diagnostics());
  if (kind == "measurements") return render(read_measurements(source).diagnostics());
  if (kind == "validation") return render(validation_messages(source));
  if (kind == "links") return render(read_link_types(source).diagnostics());
  if (kind == "server") {
    const auto link_types = read_link_types({"links.toml", text_of(folder / "links.toml")});
    return render(read_server(source, link_types.value()).diagnostics());
  }
  throw std::runtime_error("no reader for " + kind);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The longest common lines stay, others are marked: "-" was expected, "+" came.
std::string difference(const std::string& expected, const std::string& actual) {
  const std::vector<std::string> a = lines_of(expected);
  const std::vector<std::string> b = lines_of(actual);
  std::vector<std::vector<std::size_t>> common(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::string text;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      text += "  " + a[i++] + '\n';
      ++j;
    } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
      text += "- " + a[i++] + '\n';
    } else {
      text += "+ " + b[j++] + '\n';
    }
  }
  return text;
}

std::vector<fs::path> cases() {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder / "cases")) {
    const fs::path ending = entry.path().extension();
    if (ending == ".toml" || ending == ".csv") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

TEST_CASE("bad files bring their messages, word for word", "[diagnostics]") {
  const std::vector<fs::path> paths = cases();
  REQUIRE(paths.size() >= 60);
  const bool update = std::getenv("TAKT_UPDATE_GOLDEN") != nullptr;
  for (const fs::path& path : paths) {
    const fs::path expected_path = fs::path(path).replace_extension(".expected");
    const std::string actual = messages(path);
    if (update) std::ofstream(expected_path, std::ios::binary) << actual;
    const std::string expected = text_of(expected_path);
    INFO(path.lexically_relative(folder).string());
    INFO(difference(expected, actual));
    CHECK_FALSE(actual.empty());
    CHECK(expected == actual);
  }
}
