#include "report/overlap_validation.hpp"

#include "catch.hpp"

using namespace takt;

namespace {

const std::string kernels = "card,kernel,shape,beside,ctas,traffic_GBps,measured_percent,not_modelled,source\n";
const std::string steps = "scenario,metric,measured,not_modelled,source\n";

}  // namespace

TEST_CASE("cases of interference are read with their kernels", "[report]") {
  const Result<std::vector<InterferenceCase>> cases = read_interference_cases(
      {"cases.csv", kernels + "h200-nvl,gemm,8192x7168x4096,\"blocks, idle\",16,2.5,72.7,,study\nc,triad,,x,0,0,97,,s\n"});
  REQUIRE(cases.has_value());
  REQUIRE(cases->size() == 2);
  CHECK((*cases)[0].gemm == std::array<std::int64_t, 3>{8192, 7168, 4096});
  CHECK((*cases)[0].beside == "blocks, idle");
  CHECK((*cases)[0].interference.ctas == 16);
  CHECK((*cases)[0].interference.traffic == Bandwidth(2.5e9));
  CHECK((*cases)[0].measured == Approx(0.727));
  CHECK_FALSE((*cases)[1].gemm.has_value());
}

TEST_CASE("cases of overlap that cannot be read are refused with their line", "[report]") {
  CHECK(render(read_interference_cases({"c.csv", kernels + "c,gemm,8192x0,x,0,0,97,,s\n"}).diagnostics()) ==
        "c.csv:2:8: error: shape is that of a product\n"
        "    2 | c,gemm,8192x0,x,0,0,97,,s\n"
        "      |        ^\n"
        "hint: MxNxK, e.g. 8192x7168x4096\n");
  CHECK(read_run_cases({"c.csv", steps + "a,b\n"}).diagnostics().front().message == "2 cells in a table of 5 columns");
  CHECK_FALSE(read_run_cases({"c.csv", "scenario\n"}).has_value());
  CHECK_FALSE(read_run_cases({"c.csv", steps + "a.toml,hidden,2 s,,s\n"}).has_value());   // modelled, but no share
}

TEST_CASE("the table of overlap shows errors, points and reasons", "[report]") {
  InterferenceCase row;
  row.measured = 0.5;
  InterferenceCase left_out = row;
  left_out.not_modelled = "stalls";
  const RunCase run = read_run_cases({"r.csv", steps + "a.toml,hidden,92.5 %,,s\nb,step,2 s,why,s\n"}).value().front();
  CHECK(run.measured == Approx(0.925));
  const std::vector<InterferenceOutcome> outcomes = {{row, 0.51}, {row, 0.45}, {row, 0.52}, {left_out, 0.0}};
  CHECK(median_interference_error(outcomes) == Approx(0.04));   // 2, 10 and 4 %
  const std::string text = overlap_validation_table(outcomes, {{run, 0.9, ""}, {run, {}, "no such strategy"}});
  CHECK(text.find("3 rows of kernels, median error 4.0 %, worst -10.0 %\n") != std::string::npos);
  CHECK(text.find("-2.5") != std::string::npos);
  CHECK(text.find("Not modelled, and why\nstalls (1 row)\n    triad, : 50.0 %\n") != std::string::npos);
  CHECK(text.find("no such strategy (1 row)\n    a.toml, hidden: 92.5 %\n") != std::string::npos);
}
