// Every rule of what PyTorch does has a test that names it, or a reason why it has none (rules.csv beside this file).
#include "base/csv.hpp"
#include "catch.hpp"
#include "support/source_dir.hpp"

#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace takt;

namespace {

struct Rule {
  std::string status, where;
};

std::string text_of(const std::string& path) {
  std::ifstream stream(takt::test::source_dir() + "/" + path);
  REQUIRE(stream);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::map<std::string, Rule> rules() {
  std::istringstream lines(text_of("tests/semantics/rules.csv"));
  std::string line;
  std::getline(lines, line);
  REQUIRE(line == "rule,status,where or why");
  std::map<std::string, Rule> all;
  while (std::getline(lines, line)) {
    const std::vector<std::string> cells = csv_cells(line);
    INFO(line);
    REQUIRE(cells.size() == 3);
    REQUIRE(all.emplace(cells[0], Rule{cells[1], cells[2]}).second);  // each rule once
  }
  return all;
}

bool names(const std::string& text, const std::string& rule) {
  const auto part_of_word = [&](std::size_t at) { return at < text.size() && std::isalnum(text[at]) != 0; };
  for (std::size_t at = text.find(rule); at != std::string::npos; at = text.find(rule, at + 1)) {
    if (!(at > 0 && part_of_word(at - 1)) && !part_of_word(at + rule.size())) return true;
  }
  return false;
}

/// Rules of a letter with their numbers, holes included.
std::set<std::string> numbered(char letter, int last, const std::set<int>& holes) {
  std::set<std::string> all;
  for (int number = 1; number <= last; ++number) {
    if (holes.count(number) == 0) all.insert(letter + std::to_string(number));
  }
  return all;
}

}  // namespace

TEST_CASE("each rule is tested in the files that its row names, or is left out for a reason", "[semantics]") {
  for (const auto& [name, rule] : rules()) {
    CAPTURE(name);
    if (rule.status == "left out") {
      CHECK(rule.where.size() > 20);
      continue;
    }
    CHECK(rule.status == "tested");
    std::istringstream files(rule.where);
    int count = 0;
    for (std::string file; files >> file; ++count) {
      CAPTURE(file);
      CHECK(names(text_of(file), name));
    }
    CHECK(count > 0);
  }
}

TEST_CASE("no rule of the strategies, of the host, of compute, of optimizers and of memory is forgotten", "[semantics]") {
  const std::map<std::string, Rule> listed = rules();
  for (const std::set<std::string>& wanted :
       {numbered('X', 6, {}), numbered('D', 16, {}), numbered('F', 6, {}), numbered('S', 22, {}),
        numbered('F', 31, {1, 2, 3, 4, 5, 6, 7, 8, 9, 18, 19}),
        std::set<std::string>{"F40", "F41", "F42", "F43", "F44", "F50", "F60"}, numbered('C', 22, {11, 12, 13}),
        numbered('H', 8, {}), numbered('O', 6, {}), numbered('M', 11, {}), numbered('Z', 16, {})}) {
    for (const std::string& name : wanted) {
      CAPTURE(name);
      CHECK(listed.count(name) == 1);
    }
  }
}

TEST_CASE("a rule's name is found as a word only", "[semantics]") {
  CHECK(names("H1, C9: an eager layer", "C9"));
  CHECK_FALSE(names("C90 and AC9", "C9"));
}
