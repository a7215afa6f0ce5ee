#include "config/json.hpp"

#include "catch.hpp"

#include <limits>

using namespace takt;

TEST_CASE("an object keeps the order of its members", "[config][json]") {
  const Json json = Json::Object{{"zebra", 1}, {"ant", Json::Array{1.5, "two", true, Json{}}}};
  REQUIRE(write_json(json, JsonLayout::compact) == R"({"zebra":1,"ant":[1.5,"two",true,null]})");
}

TEST_CASE("a number that JSON does not have is null", "[config][json]") {
  REQUIRE(write_json(Json(std::numeric_limits<double>::infinity()), JsonLayout::compact) == "null");
}

TEST_CASE("writing and reading give the same value", "[config][json]") {
  const Json json = Json::Object{{"third", 1.0 / 3.0},
                                 {"big", std::int64_t{9'007'199'254'740'993}},
                                 {"nested", Json::Object{{"list", Json::Array{}}, {"none", Json{}}}}};
  const Result<Json> read = parse_json({"t.json", write_json(json)});
  REQUIRE(read.has_value());
  REQUIRE(*read == json);
  REQUIRE(std::get<double>(read->find("third")->value) == 1.0 / 3.0);
  REQUIRE(read->find("absent") == nullptr);
}

TEST_CASE("bad JSON is an error with its place", "[config][json]") {
  const Result<Json> read = parse_json({"config.json", "{\n  \"hidden_size\": 4096\n  \"layers\": 32\n}\n"});
  REQUIRE_FALSE(read.has_value());
  REQUIRE(render(read.diagnostics()) ==
          "config.json:3:10: error: this is no valid JSON\n"
          "    3 |   \"layers\": 32\n"
          "      |          ^\n"
          "hint: check for a missing comma, quote or bracket before this place\n");
}
