#include "base/units.hpp"

#include "base/text.hpp"
#include "catch.hpp"

using namespace takt;

TEST_CASE("a completion is rounded up to a whole picosecond", "[base]") {
  // 1 byte at 3e12 B/s = 1/3 ps
  REQUIRE(transfer_time(Bytes(1), Bandwidth(3e12)) == Duration(1));
  // 64 GB at 64 GB/s = 1 s exactly
  REQUIRE(transfer_time(Bytes(64'000'000'000), Bandwidth(64e9)) == std::chrono::seconds(1));
}

TEST_CASE("a time beyond the range saturates", "[base]") {
  REQUIRE(duration_from_seconds(1e30) == Duration::max());
}

TEST_CASE("did-you-mean finds a slip of the fingers and nothing far away", "[base]") {
  const std::vector<std::string> keys = {"sequence_length", "micro_batch", "strategy"};
  REQUIRE(did_you_mean("micro_bacth", keys) == "micro_batch");
  REQUIRE(did_you_mean("stratgy", keys) == "strategy");
  REQUIRE_FALSE(did_you_mean("zebra", keys).has_value());
}
