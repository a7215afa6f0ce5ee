#include "plan/fsdp_unit.hpp"

#include "catch.hpp"
#include "toy.hpp"

using namespace takt;

TEST_CASE("parameters are padded on dimension 0, each by itself (S4)", "[plan]") {
  // Shapes and shards worked out from _fsdp_param.py@010ae4a8: ceil(rows / ranks) * columns.
  const std::vector<Parameter> parameters = {toy::parameter("a", 4096, 4096), toy::parameter("b", 1024, 4096),
                                             toy::parameter("c", 4096), toy::parameter("d", 3, 5)};
  const auto shard = [&](std::int64_t ranks) {
    std::int64_t elements = 0;
    for (const Parameter& parameter : parameters) elements += padded_shard_elements(parameter, ranks);
    return elements;
  };
  REQUIRE(shard(2) == 10487818);
  REQUIRE(shard(8) == 2621957);
  REQUIRE(shard(1) == 4096 * 4096 + 1024 * 4096 + 4096 + 15);
}

TEST_CASE("a unit's collectives carry all ranks' padded shards", "[plan]") {
  Workload workload = toy::transformer(1);
  workload.reduce_bytes = 4.0;
  const BlockKind kind = toy::block("layer", {toy::parameter("a", 3, 5), toy::parameter("b", 8)});
  const UnitSizes sizes = unit_sizes(workload, kind, 4);
  // shards: a 1 row of 5, b 2 elements: 7 elements
  REQUIRE(sizes.gathered_shard == Bytes(2 * 7));
  REQUIRE(sizes.gathered == Bytes(4 * 2 * 7));
  REQUIRE(sizes.reduced == Bytes(4 * 4 * 7));
  REQUIRE(sizes.reduced_shard == Bytes(4 * 7));
  REQUIRE(sizes.gradients == Bytes(2 * 23));       // before padding and cast
  REQUIRE(sizes.accumulated == Bytes(4 * 23));
  REQUIRE(sizes.trainable_shard_elements == 7);
  REQUIRE(sizes.optimizer_shard == Bytes(8 * 7));
}

TEST_CASE("units: one a decoder layer, the rest is the root", "[plan]") {
  const FsdpModel model = fsdp_model(toy::transformer(3), 2);
  REQUIRE(model.layers == std::vector<std::size_t>{1, 2, 3});
  REQUIRE(model.before == std::vector<std::size_t>{0});
  REQUIRE(model.after == std::vector<std::size_t>{4});
  REQUIRE(model.root.gathered == Bytes(2 * (64 * 16 + 16 + 64 * 16)));
  REQUIRE(model.total.gathered == model.root.gathered + Bytes(3 * 2 * 16 * 16));
  REQUIRE_FALSE(fsdp_model(toy::layers_only(3), 2).has_root());
}

TEST_CASE("weights of a broken number of bytes round up once a shard", "[plan]") {
  Workload workload = toy::transformer(1);
  Parameter nf4 = toy::parameter("q.w", 10, 10);
  nf4.bytes = 0.516;
  nf4.trainable = false;
  const UnitSizes sizes = unit_sizes(workload, toy::block("layer", {nf4}), 2);
  REQUIRE(sizes.gathered_shard == Bytes(26));   // 50 * 0.516 = 25.8
  REQUIRE(sizes.gathered == Bytes(52));
  REQUIRE(sizes.reduced == Bytes(0));
}
