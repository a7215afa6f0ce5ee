// Every file that people posted, against what it becomes: its warnings as comments and its server file, or the messages
// with which it is refused. TAKT_UPDATE_GOLDEN=1 writes the expected files anew.
#include "base/text.hpp"
#include "catch.hpp"
#include "config/reader.hpp"
#include "config/server_writer.hpp"
#include "import_data.hpp"
#include "support/source_dir.hpp"
#include "topology/import/import.hpp"
#include "topology/topology.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace takt;
namespace fs = std::filesystem;

namespace {

const fs::path fixtures = fs::path(takt::test::source_dir()) / "tests/topology/import/fixtures";

std::string read_file(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Which --card goes with which file; "-" where the file names its cards.
std::map<std::string, std::string> cards_of_fixtures() {
  std::map<std::string, std::string> cards;
  std::ifstream file(fixtures / "CARDS.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, card;
    if (words >> name >> card) cards[name] = card == "-" ? "" : card;
  }
  return cards;
}

std::string commented(const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) result += "# " + line + "\n";
  return result;
}

std::string outcome(const Result<ServerSpec>& server, const ImportOptions& options) {
  if (!server) return render(server.diagnostics());
  return commented(render(server.diagnostics())) + write_server(*server, options.link_types);
}

}  // namespace

TEST_CASE("every posted topology imports or is refused as expected", "[import]") {
  const std::map<std::string, std::string> cards = cards_of_fixtures();
  REQUIRE(cards.size() >= 85);
  const bool update = std::getenv("TAKT_UPDATE_GOLDEN") != nullptr;
  for (const auto& [name, card] : cards) {
    DYNAMIC_SECTION(name) {
      const ImportOptions options = test::import_options(card);
      const Result<ServerSpec> server = import_server({name, read_file(fixtures / name)}, options);
      const std::string actual = outcome(server, options);
      const fs::path expected = fs::path(fixtures / name).replace_extension(".expected");
      if (update) std::ofstream(expected) << actual;
      CHECK(actual == read_file(expected));
    }
  }
}

TEST_CASE("the server file of every import reads back as the same server", "[import]") {
  for (const auto& [name, card] : cards_of_fixtures()) {
    DYNAMIC_SECTION(name) {
      const ImportOptions options = test::import_options(card);
      const Result<ServerSpec> server = import_server({name, read_file(fixtures / name)}, options);
      if (!server) continue;
      const std::string text = write_server(*server, options.link_types);
      const Result<ServerSpec> again = read_server({"again.toml", text}, options.link_types);
      INFO(render(again.diagnostics()));
      REQUIRE(again.has_value());
      CHECK(write_server(*again, options.link_types) == text);
    }
  }
}

TEST_CASE("every import whose cards have a file builds: each card reaches each other", "[import]") {
  std::size_t built = 0;
  for (const auto& [name, card] : cards_of_fixtures()) {
    CAPTURE(name);
    const ImportOptions options = test::import_options(card);
    const Result<ServerSpec> server = import_server({name, read_file(fixtures / name)}, options);
    if (!server) continue;
    const bool known = std::all_of(server->devices.begin(), server->devices.end(), [&](const DeviceSpec& device) {
      return device.kind != DeviceKind::card || options.cards.count(device.card) > 0;
    });
    if (!known) continue;
    const Result<Topology> topology = build_topology(*server, options.cards, LinkBasis::measured);
    INFO(render(topology.diagnostics()));
    CHECK(topology.has_value());
    ++built;
  }
  CHECK(built >= 70);
}

TEST_CASE("every fixture has a source", "[import]") {
  const std::string sources = read_file(fixtures / "SOURCES.csv");
  for (const auto& [name, card] : cards_of_fixtures()) {
    CAPTURE(name);
    CHECK(sources.find("\n" + name + ",") != std::string::npos);
  }
}
