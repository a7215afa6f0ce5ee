// Whatever a file holds, an importer returns a server or messages: it never throws, and what it accepts builds or is
// refused by the topology floor with a message.
#include "catch.hpp"
#include "import_data.hpp"
#include "support/source_dir.hpp"
#include "topology/import/p2p_log.hpp"

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

using namespace takt;
namespace fs = std::filesystem;

namespace {

std::string read_file(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Cuts, swaps, doubles and overwrites pieces, as bad pastes do.
std::string damaged(std::string text, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  for (std::size_t edits = 1 + below(4); edits > 0 && text.size() > 2; --edits) {
    const std::size_t at = below(text.size() - 1);
    const std::size_t length = std::min(text.size() - at, 1 + below(40));
    switch (below(5)) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), length));
        break;
      case 3:
        text[at] = static_cast<char>(32 + below(95));
        break;
      default:
        text[at] = static_cast<char>('0' + below(10));
        break;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("damaged files import or are refused, and never throw", "[import][property]") {
  const ImportOptions options = test::import_options("h200-nvl");
  std::vector<fs::path> files;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(takt::test::source_dir()) / "tests/topology/import/fixtures")) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".txt" || extension == ".xml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  REQUIRE(files.size() > 80);
  constexpr std::uint64_t seed = 4;
  std::mt19937_64 random(seed);
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (const fs::path& file : files) {
    for (int round = 0; round < 8; ++round) {
      const std::string text = damaged(read_file(file), random);
      CAPTURE(seed, file.string(), round, text);
      Result<ServerSpec> server = Diagnostic{};
      REQUIRE_NOTHROW(server = import_server({"damaged", text}, options));
      if (server) {
        ++accepted;
        REQUIRE_NOTHROW(build_topology(*server, options.cards, LinkBasis::measured).has_value());
      } else {
        ++refused;
        REQUIRE(has_error(server.diagnostics()));
      }
      REQUIRE_NOTHROW(read_p2p_log({"damaged", text}).has_value());
    }
  }
  // Both happen, or the damage is too small or too great to test anything.
  CHECK(accepted > 50);
  CHECK(refused > 50);
}
