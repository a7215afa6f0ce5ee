// takt validate --steps: published steps, the rows that count, and a user's own.
#include "validate_steps.hpp"

#include "catch.hpp"
#include "report/format.hpp"
#include "report/step_residuals.hpp"
#include "report/step_scatter.hpp"
#include "support/scenarios.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <set>

using namespace takt;

namespace {

std::string steps_folder() {
  return test::source_dir() + "/validation/steps";
}

/// "4.5 % | 17.1 % | +1.9 %".
std::string cells(const ErrorSummary& errors) {
  return fmt::format("{} | {} | {}{}", format_share(errors.median), format_share(errors.p90),
                     errors.signed_median < 0.0 ? "-" : "+", format_share(std::abs(errors.signed_median)));
}

/// The errors by publisher as the README's table, and what all rows come to.
std::string step_markdown(const StepReport& report) {
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> ratios;
  for (const StepOutcome& outcome : report.outcomes) {
    auto& [fitted, left_out] = ratios[outcome.row.publisher];
    fitted.push_back(outcome.ratio());
    left_out.push_back(outcome.left_out_ratio());
  }
  std::string text = "  | publisher | rows | median error | 90th percentile | signed | left out: median | 90th percentile | signed |\n"
                     "  |---|---|---|---|---|---|---|---|\n";
  for (const auto& [publisher, of] : ratios)
    text += fmt::format("  | {} | {} | {} | {} |\n", publisher, of.first.size(), cells(summary_of(of.first)),
                        cells(summary_of(of.second)));
  const StepScores scores = scores_of(report.outcomes);
  text += fmt::format("  | all | {} | {} | {} |\n", report.outcomes.size(), cells(scores.fitted.all),
                      cells(scores.left_out.all));
  const ResidualInterval interval = left_out_interval(report.outcomes);
  const PredictionInterval wide = interval_between_architectures(report.outcomes);
  text += fmt::format("\n  Median over publishers left out: {}. Nine tenths of left-out rows take {:.2f} to {:.2f} of their "
                      "prediction;\n  {} of the rows lie within what the other publishers' rows say. With each "
                      "architecture left out: {:.2f} to {:.2f}.\n",
                      format_share(scores.left_out.publishers), interval.parts.low, interval.parts.high,
                      format_share(interval.coverage), wide.low, wide.high);
  return text;
}

/// `readme` with the table between its marks as it should be.
std::string with_steps(const std::string& readme, const StepReport& report) {
  const std::string begin = "  <!-- steps -->\n", end = "  <!-- steps end -->\n";
  const std::size_t from = readme.find(begin), to = readme.find(end);
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  return readme.substr(0, from + begin.size()) + step_markdown(report) + readme.substr(to);
}

}  // namespace

TEST_CASE("published steps: the scope, the constants and what they rest on, left-out errors and intervals", "[tools]") {
  Library library(search_path(nullptr));
  const Result<StepReport> report = validate_steps(steps_folder(), std::nullopt, library, Refit::without_each);
  REQUIRE(report);
  // Rows in are rows scored and rows left out by a written rule.
  CHECK(report->outcomes.size() == 344);
  CHECK(report->excluded.size() == 84);
  for (const StepCase& row : report->excluded) {
    CAPTURE(row.row, row.excluded);
    CHECK(report->rules.count(row.excluded) == 1);
  }
  // At most eight constants; each rests on rows that are scored, and moves nothing that it should not.
  CHECK(global_constants().size() <= 8);
  REQUIRE(report->bases.size() == global_constants().size());
  std::map<std::string, std::string> architecture_of;
  for (const StepOutcome& outcome : report->outcomes) architecture_of.emplace(outcome.row.row, outcome.architecture);
  for (std::size_t i = 0; i < report->bases.size(); ++i) {
    const std::string name = global_constants()[i].name;
    CAPTURE(name);
    CHECK(!report->bases[i].rows.empty());
    for (const ConstantBasis::Row& row : report->bases[i].rows) {
      CAPTURE(row.row);
      REQUIRE(architecture_of.count(row.row) == 1);
      const std::string& architecture = architecture_of.at(row.row);
      if (name == "gemm_ampere") CHECK(architecture != "Hopper");
      if (name == "gemm_hopper") CHECK(architecture != "Ampere");
      if (name == "masked_attention_blackwell") CHECK(architecture == "Blackwell");
    }
  }
  // Recorded constants, errors and intervals are what the rows give with the present code.
  CHECK(left_step_bounds(*report) == std::vector<std::string>{});
  // The README shows them, and the picture.
  const std::string readme = test::source_dir() + "/README.md", picture = test::source_dir() + "/docs/steps.svg";
  const std::string wanted = with_steps(read_text_file(readme).value().text, *report);
  if (std::getenv("TAKT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(readme, std::ios::binary) << wanted;
    std::ofstream(picture, std::ios::binary) << step_scatter_svg(report->outcomes);
  }
  CHECK(read_text_file(readme).value().text == wanted);
  CHECK(read_text_file(picture).value().text == step_scatter_svg(report->outcomes));
  // The scenarios that are written out play to the same times.
  for (std::size_t i = 0; i < report->outcomes.size(); i += 43) {
    const StepCase& row = report->outcomes[i].row;
    CAPTURE(row.row);
    const Result<SourceText> file = read_text_file(test::source_dir() + "/scenarios/validation/steps/" + row.publisher +
                                                   "-" + row.row + ".toml");
    REQUIRE(file);
    const Result<FinishedRun> finished = run(*file, {}, library, {});
    REQUIRE(finished);
    CHECK(to_seconds(finished->result.metrics.step_time) == report->outcomes[i].predicted_s);
  }
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

TEST_CASE("a step of the user's that cannot be predicted is an error at its row, never a score", "[tools]") {
  const std::string file = (std::filesystem::temp_directory_path() / "takt-own-wrong-steps.csv").string();
  std::ofstream(file) << step_columns
                      << "\nmine,me,box,8x-h100-sxm-hgx,nomodel,parallel.strategy=fsdp2,full,2048,1,1,1.5,,,,,me\n";
  Library library(search_path(nullptr));
  const Result<StepReport> report = validate_steps(steps_folder(), file, library, Refit::no);
  std::filesystem::remove(file);
  REQUIRE(!report);
  REQUIRE(report.diagnostics().size() == 1);
  CHECK(report.diagnostics().front().place.line == 2);
  CHECK(report.diagnostics().front().message == "row mine: there is no model \"nomodel\"");
}

TEST_CASE("scenarios are written of the user's own rows", "[tools]") {
  const std::string file = (std::filesystem::temp_directory_path() / "takt-own-scenarios.csv").string();
  std::ofstream(file)
      << step_columns
      << "\nmine,me,box,8x-h100-sxm-hgx,llama-3.1-8b,parallel.strategy=fsdp2,full,2048,1,1,1.5,,,,,me\n";
  const Result<std::vector<SourceText>> scenarios = step_scenarios(steps_folder(), file, "out");
  std::filesystem::remove(file);
  REQUIRE(scenarios);
  REQUIRE(scenarios->size() == 1);
  CHECK(scenarios->front().file == "out/me-mine.toml");
}

TEST_CASE("scenarios/validation/steps holds the scenario of each scored row, as the table gives it", "[tools]") {
  const std::filesystem::path folder = test::source_dir() + "/scenarios/validation/steps";
  const Result<std::vector<SourceText>> scenarios = step_scenarios(steps_folder(), std::nullopt, folder.string());
  REQUIRE(scenarios);
  CHECK(scenarios->size() == 344);
  std::set<std::string> written;
  for (const SourceText& scenario : *scenarios) {
    CAPTURE(scenario.file);  // after a change of the table: takt validate --steps --write-scenarios scenarios/validation/steps
    const Result<SourceText> file = read_text_file(scenario.file);
    REQUIRE(file);
    CHECK(file->text == scenario.text);
    written.insert(std::filesystem::path(scenario.file).filename().string());
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    CAPTURE(entry.path().filename().string());
    CHECK(written.count(entry.path().filename().string()) == 1);
  }
}
