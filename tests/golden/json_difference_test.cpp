#include "golden/json_difference.hpp"

#include "catch.hpp"

using namespace takt;

TEST_CASE("differences name the key, both values and by how much", "[golden]") {
  const Json before = Json::Object{{"step_time_s", 20.0}, {"links", Json::Array{Json::Object{{"bytes", 100}}}}};
  const Json after = Json::Object{{"step_time_s", 21.5}, {"links", Json::Array{Json::Object{{"bytes", 100}}, 3}}};
  REQUIRE(differences(before, after) == std::vector<std::string>{"step_time_s: expected 20.0, now 21.5 (+7.5 %)",
                                                                 "links[1]: expected nothing, now 3"});
  REQUIRE(differences(before, before).empty());
}

TEST_CASE("a key that went and a key that came are both told", "[golden]") {
  REQUIRE(differences(Json::Object{{"old", 1}}, Json::Object{{"new", 2}}) ==
          std::vector<std::string>{"old: expected 1, now nothing", "new: expected nothing, now 2"});
}
