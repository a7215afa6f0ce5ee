// Every scenario under scenarios/, end to end, against the result that was last judged right.
//
// After a change that is meant to change results:  TAKT_UPDATE_GOLDEN=1 build/dev/tests/takt_tests_golden
// and read the difference of tests/golden/expected/ before committing it.
#include "support/scenarios.hpp"

#include "base/text.hpp"
#include "catch.hpp"
#include "golden/json_difference.hpp"
#include "report/report.hpp"
#include "support/source_dir.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace takt;

namespace {

namespace fs = std::filesystem;

const fs::path root = takt::test::source_dir();

/// The result of a scenario as takt.result/1, without the version of Takt.
Json result_of(const std::string& name) {
  const std::vector<RunResult> results = {test::finished(name).result};
  const Result<Json> json = parse_json({name, results_json(results)});
  REQUIRE(json.has_value());
  return std::get<Json::Array>(json->find("results")->value).at(0);
}

}  // namespace

TEST_CASE("every scenario gives the result that was last judged right", "[golden]") {
  const bool update = std::getenv("TAKT_UPDATE_GOLDEN") != nullptr;
  for (const std::string& name : test::scenario_names()) {
    DYNAMIC_SECTION(name) {
      const fs::path file = root / "tests" / "golden" / "expected" / (name + ".json");
      const Json actual = result_of(name);
      if (update) {
        fs::create_directories(file.parent_path());
        std::ofstream(file) << write_json(actual);
        continue;
      }
      const Result<SourceText> text = read_text_file(file.string());
      REQUIRE(text.has_value());  // a new scenario: run once with TAKT_UPDATE_GOLDEN=1 and look at its result
      const Result<Json> expected = parse_json(*text);
      REQUIRE(expected.has_value());
      const std::vector<std::string> changed = differences(*expected, actual);
      INFO(join(changed, "\n"));
      REQUIRE(changed.empty());
    }
  }
}

TEST_CASE("no golden result is left of a scenario that went", "[golden]") {
  const std::vector<std::string> names = test::scenario_names();
  for (const fs::directory_entry& entry : fs::directory_iterator(root / "tests" / "golden" / "expected")) {
    CAPTURE(entry.path().filename().string());
    REQUIRE(std::count(names.begin(), names.end(), entry.path().stem().string()) == 1);
  }
}
