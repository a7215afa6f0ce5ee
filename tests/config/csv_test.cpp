#include "config/csv.hpp"

#include "catch.hpp"

using namespace takt;

TEST_CASE("cells may be quoted, and comment lines are passed over", "[config]") {
  const Result<CsvTable> table = read_csv({"t.csv", "a,b\n# a remark\n\"1, 2\",\"say \"\"x\"\"\"\r\n\n3,\n"}, "a,b");
  REQUIRE(table);
  REQUIRE(table->rows.size() == 2);
  CHECK(table->rows[0].cells == std::vector<std::string>{"1, 2", "say \"x\""});
  CHECK(table->rows[0].line == 3);
  CHECK(table->rows[1].cells == std::vector<std::string>{"3", ""});
}

TEST_CASE("a table without a header is refused, a number must be the whole cell", "[config]") {
  CHECK(render(read_csv({"t.csv", "\n"}).diagnostics()) ==
        "t.csv:1:1: error: an empty table\nhint: start with a header\n");
  CHECK(number_in("1.5e3") == 1500.0);
  CHECK_FALSE(number_in("1.5 ms"));
  CHECK_FALSE(number_in(""));
}
