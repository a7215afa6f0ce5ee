#include "config/quantity.hpp"

#include <random>

#include "catch.hpp"

using namespace takt;

namespace {

template <class T>
struct Row {
  std::string text;
  T value;
};

template <class T>
void require_rows(const std::vector<Row<T>>& rows) {
  for (const Row<T>& row : rows) {
    INFO(row.text);
    const ParsedQuantity<T> parsed = parse_quantity<T>(row.text);
    INFO(parsed.problem.message);
    REQUIRE(parsed.value.has_value());
    REQUIRE(*parsed.value == row.value);
  }
}

template <class T>
std::string problem(const std::string& text) {
  const ParsedQuantity<T> parsed = parse_quantity<T>(text);
  REQUIRE_FALSE(parsed.value.has_value());
  return std::to_string(parsed.problem.offset) + ": " + parsed.problem.message;
}

}  // namespace

TEST_CASE("sizes: decimal and binary prefixes, exact to the byte", "[config]") {
  require_rows<Bytes>({
      {"0 B", Bytes(0)},
      {"1712324608 B", Bytes(1'712'324'608)},
      {"64 GiB", Bytes(64LL << 30)},
      {"64GiB", Bytes(64LL << 30)},
      {"64 GB", Bytes(64'000'000'000)},
      {"143771 MiB", Bytes(143'771LL << 20)},
      {"150.753 GB", Bytes(150'753'000'000)},
      {"0.5 KiB", Bytes(512)},
      {"1e3 kB", Bytes(1'000'000)},
      {"9223372036854775807 B", Bytes(9'223'372'036'854'775'807)},  // beyond 2^53: no detour over doubles
  });
}

TEST_CASE("times are whole picoseconds", "[config]") {
  require_rows<Duration>({
      {"2 us", Duration(2'000'000)},
      {"2 \u00b5s", Duration(2'000'000)},
      {"0.3 us", Duration(300'000)},
      {"17.5 ms", Duration(17'500'000'000)},
      {"1.5 s", Duration(1'500'000'000'000)},
      {"2 min", Duration(120'000'000'000'000)},
      {"1 h", Duration(3'600'000'000'000'000)},
  });
}

TEST_CASE("rates are the doubles nearest to the written number in base units", "[config]") {
  require_rows<Bandwidth>({
      {"450 GB/s", Bandwidth(450e9)},
      {"56.3 GB/s", Bandwidth(56.3e9)},
      {"400 Gb/s", Bandwidth(50e9)},
      {"1.2 Tb/s", Bandwidth(150e9)},
      {"2 GiB/s", Bandwidth(2147483648.0)},
      {"4.8 TB/s", Bandwidth(4.8e12)},
      {"1.5e-3 GB/s", Bandwidth(1.5e6)},
  });
  require_rows<FlopRate>({{"835.5 TFLOP/s", FlopRate(835.5e12)}, {"1.979 PFLOP/s", FlopRate(1.979e15)}});
  require_rows<Power>({{"600 W", Power(600)}, {"1.2 kW", Power(1200)}});
  require_rows<Frequency>({{"1785 MHz", Frequency(1.785e9)}, {"2.617 GHz", Frequency(2.617e9)}});
}

TEST_CASE("what is no quantity says why, and where in the text", "[config]") {
  REQUIRE(problem<Bandwidth>("450") == "0: needs a unit: it is a bandwidth");
  REQUIRE(problem<Bandwidth>("450 GBs") == "4: has the unknown unit \"GBs\"");
  REQUIRE(problem<Bandwidth>("64 GiB") == "3: needs a bandwidth, but \"GiB\" is a unit of size");
  REQUIRE(problem<Bytes>("64 GB/s") == "3: needs a size, but \"GB/s\" is a unit of bandwidth");
  REQUIRE(problem<Duration>("2 seconds") == "2: has the unknown unit \"seconds\"");
  REQUIRE(problem<Duration>("-2 us") == "0: must not be negative");
  REQUIRE(problem<Duration>("-0.5us") == "0: must not be negative");
  REQUIRE(problem<Power>("inf W") == "0: must be a finite number with a unit");
  REQUIRE(problem<Power>("nan W") == "0: must be a finite number with a unit");
  REQUIRE(problem<Power>("1e999 W") == "0: is outside of what a number can hold");
  REQUIRE(problem<Bytes>("10000 PB") == "0: is more bytes than a 64-bit number holds");
  REQUIRE(problem<Bytes>("9223372036854775808 B") == "0: is more bytes than a 64-bit number holds");
  REQUIRE(problem<Duration>("4000 h") == "0: is more picoseconds than a 64-bit number holds");
  REQUIRE(problem<Bytes>("0.1 B") == "0: is less than one byte");
  REQUIRE(problem<Duration>("0.1 ps") == "0: is less than one picosecond");
  REQUIRE(problem<Bytes>("") == "0: is empty, but needs a size");
  REQUIRE(problem<Bytes>("many GB") == "0: does not begin with a number");
  REQUIRE(problem<Bytes>("1.2.3 GB") == "0: does not begin with a number");
  REQUIRE(problem<Bytes>("1,000 GB") == "1: has the unknown unit \",000 GB\"");
  REQUIRE(parse_quantity<FlopRate>("989 TFLOPS").problem.hint.find("did you mean \"TFLOP/s\"?") == 0);
  REQUIRE(parse_quantity<Bandwidth>("400 Gbps").problem.hint.find("did you mean \"Gb/s\"?") == 0);
}

TEST_CASE("a quantity is written in the largest unit that keeps it exact", "[config]") {
  REQUIRE(quantity_text(Bytes(26'214'400)) == "25 MiB");
  REQUIRE(quantity_text(Bytes(64'000'000'000)) == "64 GB");
  REQUIRE(quantity_text(Bytes(1'712'324'608)) == "1633 MiB");
  REQUIRE(quantity_text(Bytes(1001)) == "1001 B");
  REQUIRE(quantity_text(Bytes(0)) == "0 B");
  REQUIRE(quantity_text(Duration(4'000'000)) == "4 us");
  REQUIRE(quantity_text(Duration(0)) == "0 ps");
  REQUIRE(quantity_text(Duration(1)) == "1 ps");
  REQUIRE(quantity_text(Bandwidth(56.3e9)) == "56.3 GB/s");
  REQUIRE(quantity_text(FlopRate(835.5e12)) == "835.5 TFLOP/s");
  REQUIRE(quantity_text(Power(600)) == "600 W");
}

TEST_CASE("property: what is written reads back as the same value", "[config][property]") {
  constexpr std::uint64_t seed = 20240917;
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2000; ++i) {
    const auto count = static_cast<std::int64_t>(random() >> (1 + random() % 62));
    REQUIRE(parse_quantity<Bytes>(quantity_text(Bytes(count))).value == Bytes(count));
    REQUIRE(parse_quantity<Duration>(quantity_text(Duration(count))).value == Duration(count));
    const double rate = static_cast<double>(random() % 1'000'000'000) * 0.001 * static_cast<double>(1 + random() % 1000000);
    REQUIRE(parse_quantity<Bandwidth>(quantity_text(Bandwidth(rate))).value == Bandwidth(rate));
  }
}
