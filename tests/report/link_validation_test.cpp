#include "report/link_validation.hpp"

#include "catch.hpp"

using namespace takt;

namespace {

const std::string header = "server,state,group,what,transfers,measured_GBps,not_modelled,source\n";

}  // namespace

TEST_CASE("cases of link measurements are read with their transfers", "[report]") {
  const Result<std::vector<LinkCase>> cases =
      read_link_cases({"cases.csv", header + "box,acs,contention,\"a, b\",0>1 host>2,50,,\"a \"\"b\"\"\"\n"});
  REQUIRE(cases.has_value());
  REQUIRE(cases->size() == 1);
  const LinkCase& row = cases->front();
  CHECK(row.state == PeerState::acs);
  CHECK(row.what == "a, b");
  CHECK(row.source == "a \"b\"");
  REQUIRE(row.transfers.size() == 2);
  CHECK(row.transfers[1].from == Transfer::host);
  CHECK(row.transfers[1].to == 2);
  CHECK(row.measured == Bandwidth(50e9));
}

TEST_CASE("rows that cannot be read are refused with their line", "[report]") {
  CHECK(render(read_link_cases({"c.csv", header + "box,on,g,w,0>0,50,,s\n"}).diagnostics()) ==
        "c.csv:2:12: error: \"0>0\" names no transfers\n"
        "    2 | box,on,g,w,0>0,50,,s\n"
        "      |            ^\n"
        "hint: from>to by card number or host, several with a space between: 0>1 host>2\n");
  CHECK(render(read_link_cases({"c.csv", header + "box,maybe,g,w,0>1,50,,s\n"}).diagnostics()) ==
        "c.csv:2:5: error: no state is called \"maybe\"\n"
        "    2 | box,maybe,g,w,0>1,50,,s\n"
        "      |     ^\n"
        "hint: on, off or acs\n");
  CHECK(read_link_cases({"c.csv", header + "box,on\n"}).diagnostics().front().message == "2 cells in a table of 8 columns");
  CHECK_FALSE(read_link_cases({"c.csv", "server\n"}).has_value());
}

TEST_CASE("the median counts what is modelled", "[report]") {
  LinkCase row;
  row.group = "contention";
  row.measured = Bandwidth(100e9);
  LinkCase reads = row;
  reads.not_modelled = "reads";
  // Errors +2 %, -4 %, +10 %: the median of their sizes is 4 %.
  const std::vector<LinkOutcome> outcomes = {
      {row, Bandwidth(102e9)}, {row, Bandwidth(96e9)}, {row, Bandwidth(110e9)}, {reads, Bandwidth(900e9)}};
  CHECK(median_link_error(outcomes) == Approx(0.04));
  const std::string table = link_validation_table(outcomes, {{"box", "latency", 20, "no link"}});
  CHECK(table.find("\n24 published rows: 3 compared, median error 4.0 %; 1 not modelled; 20 excluded by rule\n") !=
        std::string::npos);
  CHECK(table.find("\n20 excluded, latency: no link\n  box\n") != std::string::npos);
}

TEST_CASE("exclusions are read with their number of rows and the rule", "[report]") {
  const std::string first = "machine,measurement,rows,rule,source\n";
  const Result<std::vector<LinkExclusion>> rows =
      read_link_exclusions({"excluded.csv", first + "box,latency,12,\"a, b\",log\n"});
  REQUIRE(rows.has_value());
  REQUIRE(rows->size() == 1);
  CHECK(rows->front().rows == 12);
  CHECK(rows->front().rule == "a, b");
  CHECK(read_link_exclusions({"e.csv", first + "box,latency,none,r,s\n"}).diagnostics().front().message ==
        "the number of rows cannot be read");
}
