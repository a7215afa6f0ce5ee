#include "report/table.hpp"

#include "catch.hpp"

using namespace takt;

TEST_CASE("columns line up, and no line ends in spaces", "[report]") {
  Table table({{"link"}, {"busy", Align::right}, {"note"}});
  table.row({"gpu0 -> sw0", "93.1 %"});
  table.rule();
  table.row({"a", "5.0 %", "quiet"});
  REQUIRE(table.text(1) ==
          " link           busy  note\n"
          " --------------------------\n"
          " gpu0 -> sw0  93.1 %\n"
          " --------------------------\n"
          " a             5.0 %  quiet\n");
}

TEST_CASE("a table without titles has no head", "[report]") {
  Table table({{""}, {"", Align::right}});
  table.row({"step time", "1.23 s"});
  REQUIRE(table.text() == "step time  1.23 s\n");
}

TEST_CASE("Markdown keeps bars within a cell", "[report]") {
  Table table({{"key"}, {"type"}});
  table.row({"a.b", "one of x | y"});
  REQUIRE(table.markdown() == "| key | type |\n|---|---|\n| a.b | one of x \\| y |\n");
}

TEST_CASE("width counts characters, not bytes", "[report]") {
  REQUIRE(display_width("8\xC3\x97 H200") == 7);
  REQUIRE(shorten("8\xC3\x97 H200", 4) == "8\xC3\x97 ~");
  REQUIRE(shorten("short", 5) == "short");
}

TEST_CASE("text wraps between words", "[report]") {
  REQUIRE(wrap("one two three", 8) == "one two\nthree\n");
  REQUIRE(wrap("one two three", 8, 2) == "  one\n  two\n  three\n");
}
