#include "metrics/sizing/server_needs.hpp"

#include "catch.hpp"

using namespace takt;

namespace {

constexpr std::int64_t gigabyte = 1'000'000'000;

CardSpec card_of(std::int64_t gigabytes, std::int64_t generation) {
  CardSpec card;
  card.memory_nominal = Bytes(gigabytes * gigabyte);
  card.pcie_generation = generation;
  card.pcie_lanes = 16;
  return card;
}

}  // namespace

TEST_CASE("host memory is two or three times the cards', in modules that are sold", "[metrics][sizing]") {
  CHECK(host_memory_rule(card_of(141, 5), 8, 2) == Bytes(2256 * gigabyte));
  CHECK(host_memory_rule(card_of(141, 5), 8, 3) == Bytes(3384 * gigabyte));
  CHECK(populated_memory(Bytes(2256 * gigabyte), 24) == Bytes(2304 * gigabyte));  // 24 x 96
  CHECK(populated_memory(Bytes(3384 * gigabyte), 32) == Bytes(4096 * gigabyte));  // 32 x 128, as Cisco ships
  CHECK(populated_memory(Bytes(384 * gigabyte), 24) == Bytes(384 * gigabyte));    // just enough is enough
  CHECK(populated_memory(Bytes(9000 * gigabyte), 24) == Bytes(9000 * gigabyte));  // beyond the largest module
}

TEST_CASE("power of a server and of its feeds", "[metrics][sizing]") {
  // 1.15 x (8 x 600 + 2 x 360) = 6,348 W; 0.8 x 230 x 16 = 2,944 W; 0.8 x sqrt(3) x 400 x 16 = 8,868 W
  CHECK(server_power(Power(600), 8, reference_cpu(8).power).count() == Approx(6348.0));
  CHECK(usable_power(feeds[0]).count() == Approx(2944.0));
  CHECK(usable_power(feeds[2]).count() == Approx(8868.1).epsilon(1e-5));
}

TEST_CASE("a slot's nominal rate doubles with each generation", "[metrics][sizing]") {
  CHECK(nominal_pcie(card_of(1, 3)) == Bandwidth(16e9));
  CHECK(nominal_pcie(card_of(1, 4)) == Bandwidth(32e9));
  CHECK(nominal_pcie(card_of(1, 5)) == Bandwidth(64e9));
}
