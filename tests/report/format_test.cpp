#include "report/format.hpp"

#include "catch.hpp"

#include <limits>

using namespace takt;

TEST_CASE("a time shows three significant digits in its own unit", "[report]") {
  REQUIRE(format_time(Duration(0)) == "0 s");
  REQUIRE(format_time(Duration(7)) == "7.00 ps");
  REQUIRE(format_time(std::chrono::microseconds(12)) == "12.0 us");
  REQUIRE(format_time(std::chrono::milliseconds(1234)) == "1.23 s");
  REQUIRE(format_time(std::chrono::seconds(4321)) == "4321 s");
  // 999.6 ms rounds to 1000 ms, which reads as a second
  REQUIRE(format_time(std::chrono::microseconds(999'600)) == "1.00 s");
}

TEST_CASE("a size counts as data sheets do", "[report]") {
  REQUIRE(format_size(Bytes(0)) == "0 B");
  REQUIRE(format_size(Bytes(141'000'000'000)) == "141 GB");
  REQUIRE(format_size(Bytes(-1'500)) == "-1.50 kB");
}

TEST_CASE("memory bandwidths stay in GB/s, so that they compare with links", "[report]") {
  REQUIRE(format_bandwidth(Bandwidth(4.8e12)) == "4800 GB/s");
  REQUIRE(format_bandwidth(Bandwidth(56.3e9)) == "56.3 GB/s");
  REQUIRE(format_bandwidth(Bandwidth(std::numeric_limits<double>::infinity())) == "unlimited GB/s");
}

TEST_CASE("numbers round once", "[report]") {
  REQUIRE(format_number(9.996) == "10.0");
  REQUIRE(format_number(0.01234) == "0.0123");
  REQUIRE(format_number(0.0) == "0");
  REQUIRE(format_share(0.41249) == "41.2 %");
  REQUIRE(format_count(70'553'706'496) == "70,553,706,496");
  REQUIRE(format_count(-999) == "-999");
}
