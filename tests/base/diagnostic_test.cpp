#include "base/diagnostic.hpp"

#include "catch.hpp"

using namespace takt;

TEST_CASE("a diagnostic shows place, source line, caret and hint", "[base]") {
  const Diagnostic diagnostic{Severity::error,
                              {"scenarios/lora.toml", 14, 9, "group = 6"},
                              "hybrid shard group of 6 does not divide 8 ranks",
                              "use 1, 2, 4 or 8"};
  REQUIRE(render(diagnostic) ==
          "scenarios/lora.toml:14:9: error: hybrid shard group of 6 does not divide 8 ranks\n"
          "   14 | group = 6\n"
          "      |         ^\n"
          "hint: use 1, 2, 4 or 8\n");
}

TEST_CASE("a diagnostic without a place is only its message", "[base]") {
  REQUIRE(render(Diagnostic{Severity::warning, {}, "something odd", ""}) == "warning: something odd\n");
}
