#include "catch.hpp"
#include "config/json.hpp"
#include "report/hand_made_result.hpp"
#include "report/report.hpp"
#include "report/result_columns.hpp"

#include <algorithm>

using namespace takt;

namespace {

Json parsed(const std::string& text) {
  Result<Json> json = parse_json({"result.json", text});
  REQUIRE(json.has_value());
  return std::move(json).value();
}

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const JsonMember& member : std::get<Json::Object>(object.value)) names.push_back(member.key);
  return names;
}

}  // namespace

TEST_CASE("takt.result/1 has the keys of the schema, in order", "[report]") {
  const std::vector<RunResult> runs = {hand_made::bridge()};
  const Json json = parsed(results_json(runs));
  REQUIRE(keys(json) == std::vector<std::string>{"schema", "takt_version", "results"});
  REQUIRE(*json.find("schema") == Json("takt.result/1"));
  const Json& result = std::get<Json::Array>(json.find("results")->value).at(0);
  REQUIRE(keys(result) == std::vector<std::string>{"scenario", "ranks", "step_time_s", "step_time_interval_s", "tokens_per_step",
                                                   "tokens_per_s", "tokens_per_s_per_card", "mfu", "hfu", "breakdown",
                                                   "communication", "links", "memory", "host", "power", "cost", "blame",
                                                   "diagnostics", "provenance"});
  REQUIRE(keys(*result.find("scenario")) == std::vector<std::string>{"name", "file", "hash"});
  REQUIRE(*result.find("scenario")->find("hash") == Json("0000000000abcdef"));
  REQUIRE(*result.find("step_time_s") == Json(20.0));
  REQUIRE(keys(*result.find("breakdown")) ==
          std::vector<std::string>{"compute_s", "exposed_communication_s", "host_s", "optimizer_s"});
  const Json& communication = *result.find("communication");
  for (const char* key : {"busy_s", "hidden_s", "overlap_ratio", "received_bytes_per_card", "sent_bytes_per_card"}) {
    CAPTURE(key);
    REQUIRE(communication.find(key) != nullptr);
  }
  const Json& link = std::get<Json::Array>(result.find("links")->value).at(0);
  for (const char* key :
       {"name", "from", "to", "capacity_Bps", "bytes", "busy_s", "utilisation_mean", "utilisation_peak"}) {
    CAPTURE(key);
    REQUIRE(link.find(key) != nullptr);
  }
  const Json& memory = *result.find("memory");
  for (const char* key : {"capacity_bytes", "peak_bytes", "states_bytes", "components", "fits"}) {
    CAPTURE(key);
    REQUIRE(memory.find(key) != nullptr);
  }
  REQUIRE(*memory.find("components")->find("weights") == Json(std::int64_t{36'000'000'000}));
  REQUIRE(keys(*result.find("host")) == std::vector<std::string>{"ram_bytes", "ram_available_bytes", "ram_fits", "nvme_bytes",
                                                                "checkpoint_bytes"});
  const Json& power = *result.find("power");
  REQUIRE(keys(power) == std::vector<std::string>{"card_limit_w", "card_idle_w", "card_idle_published", "card_w",
                                                  "step_j", "token_j", "mtoken_kwh"});
  REQUIRE(keys(*power.find("card_w")) == std::vector<std::string>{"low", "high"});
  REQUIRE(*power.find("step_j")->find("high") == Json(47'200.0));
  const Json& blamed = std::get<Json::Array>(result.find("blame")->value).at(0);
  REQUIRE(keys(blamed) == std::vector<std::string>{"resource", "seconds", "share"});
  REQUIRE(keys(*result.find("provenance")) == std::vector<std::string>{"compute", "links"});
}

TEST_CASE("CSV has as many cells as columns and quotes what needs it", "[report]") {
  RunResult run = hand_made::bridge();
  run.scenario.name = "a, \"b\"";
  const std::vector<RunResult> runs = {run};
  const std::string csv = results_csv(runs);
  INFO(csv);
  const std::string head = csv.substr(0, csv.find('\n'));
  const std::string line = csv.substr(csv.find('\n') + 1);
  REQUIRE(line.rfind("\"a, \"\"b\"\"\",scenarios/bridge.toml,0000000000abcdef,4,20.0,131072,6553.6,", 0) == 0);
  // Where kernels are priced as in steps, the interval stands in the last two columns; else they are empty.
  REQUIRE(head.ends_with(",mtoken_low_kwh,mtoken_high_kwh,step_time_low_s,step_time_high_s"));
  const Json json = parsed(results_json(runs));
  const Json& result = std::get<Json::Array>(json.find("results")->value).at(0);
  const auto& bounds = std::get<Json::Array>(result.find("step_time_interval_s")->value);
  REQUIRE(line.ends_with("," + csv_cell(bounds.at(0)) + "," + csv_cell(bounds.at(1)) + "\n"));
  run.scenario.assumptions.in_situ = false;
  const std::string without = results_csv(std::vector<RunResult>{run});
  REQUIRE(without.ends_with(",,\n"));
  // one comma is inside the quoted name
  REQUIRE(std::count(line.begin(), line.end(), ',') == std::count(head.begin(), head.end(), ',') + 1);
}
