// takt validate --steps: published steps, the rows that count, and a user's own.
#include "validate_steps.hpp"

#include "catch.hpp"
#include "support/source_dir.hpp"

#include <filesystem>
#include <fstream>

using namespace takt;

namespace {

std::string steps_folder() {
  return test::source_dir() + "/validation/steps";
}

}  // namespace

TEST_CASE("rows in are rows scored and rows left out by a written rule; summaries hold their bounds", "[tools]") {
  Library library(search_path(nullptr));
  const Result<StepReport> report = validate_steps(steps_folder(), std::nullopt, library, Refit::no);
  REQUIRE(report);
  CHECK(report->outcomes.size() == 344);
  CHECK(report->excluded.size() == 84);
  for (const StepCase& row : report->excluded) {
    CAPTURE(row.row, row.excluded);
    CHECK(report->rules.count(row.excluded) == 1);
  }
  CHECK(left_step_bounds(report->outcomes).empty());
}

TEST_CASE("a user's own steps are scored in the same columns", "[tools]") {
  const std::string file = (std::filesystem::temp_directory_path() / "takt-own-steps.csv").string();
  std::ofstream(file)
      << step_columns
      << "\nmine,me,box,8x-h100-sxm-hgx,llama-3.1-8b,parallel.strategy=fsdp2,full,2048,1,1,1.5,,,,,me\n";
  Library library(search_path(nullptr));
  const Result<StepReport> report = validate_steps(steps_folder(), file, library, Refit::no);
  std::filesystem::remove(file);
  REQUIRE(report);
  REQUIRE(report->outcomes.size() == 1);
  CHECK(report->outcomes.front().not_predicted == "");
  CHECK(report->outcomes.front().predicted_s > 0.05);
}

TEST_CASE("written scenarios are what --steps runs", "[tools]") {
  const std::filesystem::path into = std::filesystem::temp_directory_path() / "takt-step-scenarios";
  REQUIRE(!write_step_scenarios(steps_folder(), into.string()));
  std::size_t scenarios = 0;
  for (const auto& entry : std::filesystem::directory_iterator(into)) scenarios += entry.path().extension() == ".toml";
  CHECK(scenarios == 344);
  const Result<SourceText> text = read_text_file((into / "MF0092.toml").string());
  REQUIRE(text);
  const Result<Scenario> scenario = read_scenario(*text);
  REQUIRE(scenario);
  Library library(search_path(nullptr));
  CHECK(library.model(scenario->model, place_of(scenario->places, "model.name", text->file)));
  std::filesystem::remove_all(into);
}
