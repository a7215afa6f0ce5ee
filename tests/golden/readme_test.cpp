// What the README shows of Takt is what Takt prints.
//
// A block between <!-- takt ARGUMENTS --> and <!-- end --> holds the output of that command line; with
// TAKT_UPDATE_GOLDEN=1 this test rewrites the blocks.
#include "catch.hpp"
#include "command_line.hpp"
#include "support/source_dir.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace takt;

namespace {

namespace fs = std::filesystem;

const std::string begin_mark = "<!-- takt ";
const std::string begin_tail = " -->\n";
const std::string end_mark = "<!-- end -->";

std::string read_all(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// What `takt arguments` prints, as it stands in the README.
std::string printed(const std::string& arguments) {
  std::vector<std::string> words;
  std::istringstream line(arguments);
  for (std::string word; line >> word;) words.push_back(word);
  std::ostringstream out, err;
  const ExitStatus status = run_command_line(words, {out, err});
  INFO(err.str());
  REQUIRE(status == ExitStatus::done);
  const bool is_markdown = arguments.find("--markdown") != std::string::npos;
  return is_markdown ? "\n" + out.str() + "\n" : "```text\n" + out.str() + "```\n";
}

/// The README with every block as it should be; counts them.
std::string refreshed(const std::string& readme, int& blocks) {
  std::string text;
  std::size_t place = 0;
  while (true) {
    const std::size_t begin = readme.find(begin_mark, place);
    if (begin == std::string::npos) return text + readme.substr(place);
    const std::size_t tail = readme.find(begin_tail, begin);
    const std::size_t end = readme.find(end_mark, begin);
    REQUIRE(tail < end);
    REQUIRE(end != std::string::npos);
    const std::string arguments = readme.substr(begin + begin_mark.size(), tail - begin - begin_mark.size());
    text += readme.substr(place, tail + begin_tail.size() - place) + printed(arguments);
    place = end;
    ++blocks;
  }
}

}  // namespace

TEST_CASE("the README shows what Takt prints", "[golden][readme]") {
  const fs::path root = takt::test::source_dir();
  const fs::path before = fs::current_path();
  fs::current_path(root);  // the README names scenarios from the project's root
  const std::string readme = read_all(root / "README.md");
  int blocks = 0;
  const std::string wanted = refreshed(readme, blocks);
  fs::current_path(before);
  REQUIRE(blocks >= 2);  // the comparison and the key reference at least
  if (std::getenv("TAKT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(root / "README.md", std::ios::binary) << wanted;
  } else {
    REQUIRE(readme == wanted);
  }
}
