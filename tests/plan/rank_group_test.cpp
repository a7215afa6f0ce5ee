#include "plan/rank_group.hpp"

#include "catch.hpp"

using namespace takt;

namespace {

std::vector<CardInstance> cards(std::size_t count, std::size_t per_server) {
  std::vector<CardInstance> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i].vertex = id_at<VertexId>(i);
    all[i].number = static_cast<std::int64_t>(i);
    all[i].server = static_cast<std::int32_t>(i / per_server);
  }
  return all;
}

Scenario hybrid(std::int64_t group) {
  Scenario scenario;
  scenario.file = "scenarios/lora.toml";
  scenario.parallel.strategy = Strategy::fsdp2;
  scenario.parallel.sharding = Sharding::hybrid;
  scenario.parallel.shard_group = group;
  scenario.places["parallel.shard_group"] = {"scenarios/lora.toml", 14, 15, "shard_group = 6"};
  scenario.places["parallel.sharding"] = {"scenarios/lora.toml", 13, 12, "sharding = \"hybrid\""};
  return scenario;
}

}  // namespace

TEST_CASE("full sharding makes one group of all ranks, data parallel one replica a rank", "[plan]") {
  Scenario scenario;
  scenario.parallel.strategy = Strategy::fsdp2;
  REQUIRE(rank_layout(scenario, cards(8, 8))->shard_ranks == 8);
  REQUIRE(rank_layout(scenario, cards(8, 8))->replicas == 1);
  scenario.parallel.strategy = Strategy::ddp;
  REQUIRE(rank_layout(scenario, cards(8, 8))->shard_ranks == 1);
  REQUIRE(rank_layout(scenario, cards(8, 8))->replicas == 8);
}

TEST_CASE("hybrid sharding keeps within a server unless told otherwise", "[plan]") {
  REQUIRE(rank_layout(hybrid(0), cards(16, 8))->shard_ranks == 8);
  REQUIRE(rank_layout(hybrid(0), cards(16, 8))->replicas == 2);
  REQUIRE(rank_layout(hybrid(4), cards(16, 8))->shard_ranks == 4);
  REQUIRE(rank_layout(hybrid(4), cards(16, 8))->replicas == 4);
}

TEST_CASE("shard groups are consecutive ranks, replicate groups stride over them", "[plan]") {
  const RankLayout layout{2, 3};
  REQUIRE(shard_groups(layout) ==
          std::vector<std::vector<RankId>>{{RankId{0}, RankId{1}}, {RankId{2}, RankId{3}}, {RankId{4}, RankId{5}}});
  REQUIRE(replicate_groups(layout) ==
          std::vector<std::vector<RankId>>{{RankId{0}, RankId{2}, RankId{4}}, {RankId{1}, RankId{3}, RankId{5}}});
}

TEST_CASE("a hybrid group that does not divide the ranks is refused", "[plan]") {
  const Result<RankLayout> layout = rank_layout(hybrid(6), cards(8, 8));
  REQUIRE_FALSE(layout);
  REQUIRE(render(layout.diagnostics()) ==
          "scenarios/lora.toml:14:15: error: hybrid shard group of 6 does not divide 8 ranks\n"
          "   14 | shard_group = 6\n"
          "      |               ^\n"
          "hint: use 1, 2, 4 or 8\n");
}

TEST_CASE("servers with unequal numbers of cards need an explicit group", "[plan]") {
  const Result<RankLayout> layout = rank_layout(hybrid(0), cards(12, 8));
  REQUIRE_FALSE(layout);
  REQUIRE(render(layout.diagnostics()) ==
          "scenarios/lora.toml:13:12: error: hybrid sharding within a server needs equally many cards of each, but "
          "between 4 and 8 take part\n"
          "   13 | sharding = \"hybrid\"\n"
          "      |            ^\n"
          "hint: choose the cards with hardware.cards, or set parallel.shard_group\n");
}

TEST_CASE("strategy none is for one card", "[plan]") {
  Scenario scenario;
  scenario.file = "scenarios/one.toml";
  REQUIRE(rank_layout(scenario, cards(1, 8)));
  const Result<RankLayout> layout = rank_layout(scenario, cards(2, 8));
  REQUIRE_FALSE(layout);
  REQUIRE(render(layout.diagnostics()) ==
          "scenarios/one.toml: error: strategy none runs on one card, but 2 take part\n"
          "hint: choose one with hardware.cards = [0], or another strategy\n");
}
