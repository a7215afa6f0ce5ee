// docs/sizing-rules.md answers every rule of the field, with files and tests that exist.
#include "catch.hpp"
#include "house/source_tree.hpp"
#include "support/csv.hpp"

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

using namespace takt::house;

namespace {

namespace fs = std::filesystem;

struct Rule {
  std::string id, status, where, test;
};

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// The rows of the table: | rule | what it says | status | where | test |
std::vector<Rule> rules() {
  std::ifstream file(takt::test::source_dir() + "/docs/sizing-rules.md");
  REQUIRE(file);
  std::vector<Rule> found;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| X")) continue;
    std::vector<std::string> cells;
    std::istringstream stream(line.substr(1));
    for (std::string cell; std::getline(stream, cell, '|');) cells.push_back(trimmed(cell));
    INFO(line);
    REQUIRE(cells.size() == 5);
    found.push_back({cells[0], cells[2], cells[3], cells[4]});
  }
  return found;
}

/// All test programs as one text.
std::string all_tests() {
  std::string text;
  for (const SourceFile& file : files_under("tests", {".cpp"})) {
    for (const std::string& line : file.lines) text += line + '\n';
  }
  return text;
}

/// What stands between backquotes and is a path.
std::vector<std::string> paths_in(const std::string& text) {
  std::vector<std::string> paths;
  const std::regex quoted("`([^`]+/[^`]+)`");
  for (auto match = std::sregex_iterator(text.begin(), text.end(), quoted); match != std::sregex_iterator(); ++match) {
    paths.push_back((*match)[1]);
  }
  return paths;
}

}  // namespace

TEST_CASE("every rule of the sizing guides is enforced, reported or out of scope, with its place and test", "[house]") {
  std::set<std::string> wanted;
  for (const auto& row : takt::test::csv_table("tests/scenarios/sizing/sizing_claims.csv")) {
    if (row.at("kind") == "feature") wanted.insert(row.at("id"));
  }
  REQUIRE(wanted.size() == 36);
  const std::string tests = all_tests();
  for (const Rule& rule : rules()) {
    CAPTURE(rule.id, rule.where, rule.test);
    CHECK(wanted.erase(rule.id) == 1);
    const bool is_enforced = rule.status == "enforced";
    CHECK((is_enforced || rule.status == "reported" || rule.status == "out of scope"));
    CHECK_FALSE(rule.where.empty());
    if (is_enforced) CHECK_FALSE(paths_in(rule.where).empty());
    if (is_enforced) CHECK_FALSE(rule.test.empty());
    for (const std::string& path : paths_in(rule.where)) {
      INFO(path);
      CHECK(fs::exists(takt::test::source_dir() + "/" + path));
    }
    if (!rule.test.empty()) CHECK(tests.find("TEST_CASE(" + rule.test) != std::string::npos);
  }
  CHECK(wanted.empty());
}
