// How a network is divided: pieces of like size, few messages across.
#include <algorithm>
#include <numeric>
#include <random>

#include "catch.hpp"
#include "engine/regions.hpp"

using namespace takt;

namespace {

/// A ring over servers of eight cards: each card sends over its link out and the next card's link in; from server to
/// server also over two links between them. Numbered at random: the division must find who belongs together.
struct Servers {
  std::vector<LoweredCollective> collectives = std::vector<LoweredCollective>(1);
  std::vector<Communicator> communicators = std::vector<Communicator>(1);
  std::size_t resources = 0;
};

Servers ring_over_servers(std::uint32_t servers) {
  constexpr std::uint32_t cards_of_a_server = 8;
  const std::uint32_t cards = servers * cards_of_a_server;
  Servers made;
  made.resources = 2 * cards + 2 * servers;
  std::vector<std::uint32_t> number(made.resources);
  std::iota(number.begin(), number.end(), 0U);
  std::shuffle(number.begin(), number.end(), std::mt19937(7));
  LoweredCollective& ring = made.collectives.front();
  for (std::uint32_t card = 0; card < cards; ++card) {
    std::vector<std::uint32_t> used = {card, cards + (card + 1) % cards};
    const std::uint32_t server = card / cards_of_a_server;
    if ((card + 1) % cards_of_a_server == 0) used.insert(used.end(), {2 * cards + server, 2 * cards + servers + server});
    Activity message;
    for (const std::uint32_t resource : used) message.demands.push_back({id_at<ResourceId>(number[resource]), 1.0});
    ring.activities.push_back(message);
    ring.parts.add(card, {});
  }
  made.communicators.front().lowered = {id_at<CollectiveId>(0)};
  return made;
}

Regions divided(const Servers& servers, Division division = Division::where_worth_it) {
  return divided(servers.communicators, servers.collectives, servers.resources, division);
}

}  // namespace

TEST_CASE("a ring is cut into pieces with as many messages each, and few across", "[engine]") {
  const Servers servers = ring_over_servers(128);
  const Regions regions = divided(servers);
  REQUIRE(regions.count == 8);
  std::vector<int> within(regions.count, 0);
  int across = 0;
  for (const Activity& message : servers.collectives.front().activities) {
    const std::uint8_t first = regions.of_resource[index(message.demands.front().resource)];
    const bool is_within = std::all_of(message.demands.begin(), message.demands.end(), [&](const Demand& demand) {
      return regions.of_resource[index(demand.resource)] == first;
    });
    ++(is_within ? within[first] : across);
  }
  CHECK(across <= 32);   // of 1,024; a cut through a walk in both directions of the ring opens it at two places
  for (const int messages : within) CHECK(std::abs(messages - 1024 / 8) <= 24);
}

TEST_CASE("what has few messages at once is not divided", "[engine]") {
  REQUIRE(divided(ring_over_servers(31)).count == 0);   // 248
  REQUIRE(divided(ring_over_servers(32)).count == 2);   // 256: 128 a region
  REQUIRE(divided(ring_over_servers(128), Division::never).count == 0);
  Servers fluid = ring_over_servers(128);
  fluid.collectives.front().parts = {};   // one flow a lane, none waiting
  REQUIRE(divided(fluid).count == 0);
  REQUIRE(divided(fluid, Division::always).count == 8);
}
