#include "report/explanation.hpp"

#include "catch.hpp"
#include "config/json.hpp"
#include "hand_made_result.hpp"

using namespace takt;

namespace {

RunResult run_of(std::int64_t milliseconds, double tokens_per_second) {
  RunResult result;
  result.scenario.name = result.scenario.title = "run";
  result.metrics.step_time = std::chrono::milliseconds(milliseconds);
  result.metrics.tokens_per_second = tokens_per_second;
  return result;
}

Flip flip_to(std::int64_t milliseconds, double tokens_per_second) {
  return {"assumptions.overlap = none", "no overlap", run_of(milliseconds, tokens_per_second).metrics};
}

}  // namespace

TEST_CASE("an assumption shows the step that it makes and the change", "[report]") {
  const FlippedRun run{run_of(100, 1000), {flip_to(125, 800), {"parallel.prefetch = 0", "", {}}}};
  const std::string text = assumptions_explained(std::span(&run, 1), ExplanationFormat::table);
  CHECK(text.find("125 ms  +25.0 %") != std::string::npos);
  CHECK(text.find("prefetch") == std::string::npos);   // it means nothing here
}

TEST_CASE("two scenarios side by side show whether the comparison holds", "[report]") {
  const std::vector<FlippedRun> runs = {{run_of(100, 1000), {flip_to(125, 800)}},
                                        {run_of(200, 500), {{"assumptions.overlap = none", "", {}}}}};
  const std::string text = assumptions_explained(runs, ExplanationFormat::table);
  CHECK(text.find("2.00\n") != std::string::npos);
  CHECK(text.find("1.60\n") != std::string::npos);   // 800 against the other as it is
}

TEST_CASE("explanations for programs are JSON and CSV", "[report]") {
  const FlippedRun run{run_of(100, 1000), {flip_to(125, 800)}};
  const Result<Json> json =
      parse_json({"a.json", assumptions_explained(std::span(&run, 1), ExplanationFormat::json)});
  REQUIRE(json.has_value());
  CHECK(*json->find("schema") == Json("takt.assumptions/1"));
  CHECK(assumptions_explained(std::span(&run, 1), ExplanationFormat::csv) ==
        "scenario,setting,step_time_s,change,tokens_per_s,overlap_ratio\n"
        "\"run\",\"as it is\",0.1,0.0,1000.0,0.0\n"
        "\"run\",\"assumptions.overlap = none\",0.125,0.25,800.0,0.0\n");
  const std::vector<Sensitivity> list = {{"compute", std::chrono::milliseconds(95)}};
  CHECK(sensitivities_explained(run.result, list, ExplanationFormat::csv).find("\"compute\",0.095,") !=
        std::string::npos);
  REQUIRE(parse_json({"a.json", sensitivities_explained(run.result, list, ExplanationFormat::json)}).has_value());
}

TEST_CASE("sensitivities come with the largest gain first", "[report]") {
  const std::vector<Sensitivity> list = {{"compute", std::chrono::milliseconds(99)},
                                         {"gpu -> sw", std::chrono::milliseconds(92)}};
  const std::string text = sensitivities_explained(run_of(100, 1000), list, ExplanationFormat::table);
  CHECK(text.find("gpu -> sw") < text.find("compute"));
  CHECK(text.find("-8.0 %") != std::string::npos);
}
