// Includes go down the floors only; third-party headers stay at home.
#include "catch.hpp"
#include "house/source_tree.hpp"

#include <map>
#include <set>

using namespace takt::house;

namespace {

const std::map<std::string, int>& floors() {
  static const std::map<std::string, int> numbers = {
      {"base", 0},       {"config", 1}, {"topology", 2}, {"workload", 2},    {"plan", 3},
      {"collective", 3}, {"engine", 4}, {"metrics", 5},  {"calibration", 6}, {"report", 7}};
  return numbers;
}

/// Whether a file of folder `from` may include a header of folder `to`.
bool may_include(const std::string& from, const std::string& to) {
  if (from == to) return true;
  if (from == "plan" && to == "collective") return true;  // a plan holds lowered collectives
  return floors().at(to) < floors().at(from);
}

/// The one file that may include each library. Boost.Graph and fmt have rules of their own, below.
const std::map<std::string, std::string>& homes() {
  static const std::map<std::string, std::string> files = {
      {"toml++/", "sim/config/toml_text.cpp"},       {"nlohmann/", "sim/config/json.cpp"},
      {"pugixml.hpp", "sim/config/xml.cpp"},         {"yaml-cpp/", "sim/config/yaml.cpp"},         {"tbb/", "sim/engine/tbb_executor.cpp"},
      {"oneapi/", "sim/engine/tbb_executor.cpp"},    {"mimalloc", "tools/allocator.cpp"},    {"boost/program_options", "tools/options.cpp"},
      {"sqlite3.h", "tools/sweep/sqlite_output.cpp"}};
  return files;
}

bool is_standard(const std::string& header) {
  return header.find('/') == std::string::npos && header.find('.') == std::string::npos;
}

/// Headers of the operating system that the command may use.
bool is_of_the_system(const std::string& header) {
  return header == "unistd.h" || header.starts_with("sys/");
}

std::string complaint(const SourceFile& file, const std::string& header) {
  if (is_standard(header)) return "";
  if (header.starts_with("boost/graph/") || header.starts_with("boost/property_map/")) {
    if (floor_of(file.path) != "topology") return "Boost.Graph belongs to sim/topology";
    if (is_header(file) && file.path != "sim/topology/graph.hpp") return "Boost.Graph's one header is graph.hpp";
    return "";
  }
  if (header.starts_with("fmt/")) return is_header(file) ? "fmt stays in .cpp files" : "";
  for (const auto& [prefix, home] : homes()) {
    if (header.starts_with(prefix)) return file.path == home ? "" : "its home is " + home;
  }
  if (is_of_the_system(header)) return file.path.starts_with("tools/") ? "" : "only the command talks to the system";
  return "a third-party header without a home: give it one in this test";
}

}  // namespace

TEST_CASE("every folder of sim is a floor", "[house]") {
  for (const SourceFile& file : files_under("sim", {".hpp", ".cpp"})) {
    CAPTURE(file.path);
    REQUIRE(floors().count(floor_of(file.path)) == 1);
  }
}

TEST_CASE("includes go down the floors", "[house]") {
  const std::vector<SourceFile> files = files_under("sim", {".hpp", ".cpp"});
  REQUIRE(files.size() > 30);
  for (const SourceFile& file : files) {
    for (const Include& include : includes_of(file)) {
      if (include.angled) continue;
      INFO(place(file, include.line) << " includes " << include.path);
      REQUIRE(floors().count(floor_of(include.path)) == 1);
      CHECK(may_include(floor_of(file.path), floor_of(include.path)));
    }
  }
}

TEST_CASE("third-party headers stay at home", "[house]") {
  std::vector<SourceFile> files = files_under("sim", {".hpp", ".cpp"});
  for (SourceFile& file : files_under("tools", {".hpp", ".cpp"})) files.push_back(std::move(file));
  for (const SourceFile& file : files) {
    for (const Include& include : includes_of(file)) {
      if (!include.angled) continue;
      INFO(place(file, include.line) << " includes <" << include.path << ">");
      CHECK(complaint(file, include.path) == "");
    }
  }
}

TEST_CASE("the rules of floors and homes can fail", "[house]") {
  REQUIRE_FALSE(may_include("topology", "workload"));
  REQUIRE_FALSE(may_include("collective", "plan"));
  REQUIRE_FALSE(may_include("engine", "metrics"));
  REQUIRE(may_include("plan", "collective"));
  REQUIRE(complaint({"sim/config/node.cpp", {}}, "toml++/toml.h") == "its home is sim/config/toml_text.cpp");
  REQUIRE(complaint({"sim/engine/run.cpp", {}}, "boost/graph/adjacency_list.hpp") ==
          "Boost.Graph belongs to sim/topology");
  REQUIRE(complaint({"sim/engine/run.hpp", {}}, "fmt/format.h") == "fmt stays in .cpp files");
  REQUIRE(complaint({"sim/engine/run.cpp", {}}, "unistd.h") == "only the command talks to the system");
  REQUIRE(complaint({"sim/engine/run.cpp", {}}, "sqlite3.h") != "");
}
