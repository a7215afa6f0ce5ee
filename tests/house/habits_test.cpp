// Habits that a machine can check: file sizes, macros, printing, scenarios that state their question.
#include "catch.hpp"
#include "house/source_tree.hpp"

#include <algorithm>
#include <regex>

using namespace takt::house;

namespace {

constexpr std::size_t long_file = 450;  // lines: time to think of a second file
constexpr std::size_t too_long_file = 600;

std::vector<SourceFile> code() {
  std::vector<SourceFile> files = files_under("sim", {".hpp", ".cpp"});
  for (SourceFile& file : files_under("tools", {".hpp", ".cpp"})) files.push_back(std::move(file));
  return files;
}

bool is_comment(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first != std::string::npos && line.compare(first, 2, "//") == 0;
}

/// Places of lines, comments aside, in which `pattern` occurs.
std::vector<std::string> places_of(const std::vector<SourceFile>& files, const std::string& pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> places;
  for (const SourceFile& file : files) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (!is_comment(file.lines[i]) && std::regex_search(file.lines[i], expression)) {
        places.push_back(place(file, i + 1) + ": " + file.lines[i]);
      }
    }
  }
  return places;
}

const std::vector<std::string> nowhere;

}  // namespace

TEST_CASE("files stay short", "[house]") {
  for (const SourceFile& file : code()) {
    INFO(file.path << " has " << file.lines.size() << " lines");
    if (file.lines.size() > long_file) WARN(file.path << " has " << file.lines.size() << " lines: split it?");
    CHECK(file.lines.size() <= too_long_file);
  }
}

TEST_CASE("headers are guarded by pragma once", "[house]") {
  for (const SourceFile& file : code()) {
    if (!is_header(file)) continue;
    CAPTURE(file.path);
    CHECK(std::find(file.lines.begin(), file.lines.end(), "#pragma once") != file.lines.end());
  }
}

TEST_CASE("no macros of our own and no using namespace", "[house]") {
  CHECK(places_of(code(), R"(^\s*#\s*define\s+(?!TOML_))") == nowhere);  // toml++ is configured by macros
  CHECK(places_of(code(), R"(\busing namespace\b)") == nowhere);
}

TEST_CASE("the library never prints or exits", "[house]") {
  CHECK(places_of(files_under("sim", {".hpp", ".cpp"}),
                  R"(std::c(out|err|log)\b|\bf?printf\(|fmt::print|std::(exit|abort|terminate)\()") == nowhere);
}

TEST_CASE("every scenario starts with the question it answers", "[house]") {
  for (const SourceFile& file : files_under("scenarios", {".toml"})) {
    std::string head;
    for (const std::string& line : file.lines) {
      if (!line.starts_with('#')) break;
      head += line;
    }
    CAPTURE(file.path, head);
    CHECK(head.find('?') != std::string::npos);
  }
}

TEST_CASE("the habits' patterns find what they look for", "[house]") {
  const SourceFile bad{"sim/x.cpp", {"#define LIMIT 3", "using namespace std;", "  std::cout << 1;", "// std::cout"}};
  REQUIRE(places_of({bad}, R"(^\s*#\s*define\s+(?!TOML_))").size() == 1);
  REQUIRE(places_of({bad}, R"(\busing namespace\b)").size() == 1);
  REQUIRE(places_of({bad}, R"(std::c(out|err|log)\b)").size() == 1);
}
