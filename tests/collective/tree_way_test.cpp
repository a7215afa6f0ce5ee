// The longest way of a chunk through a tree, and what it costs before the pipeline is full.
#include "catch.hpp"
#include "collective/lowering.hpp"
#include "collective/nccl/chunking.hpp"
#include "collective/solo.hpp"
#include "named_machine.hpp"

#include <algorithm>

using namespace takt;

namespace {

CollectiveShape tree_over(const Topology& topology, std::int64_t bytes) {
  CollectiveOptions options;
  options.settings.algorithm = CollectiveAlgorithm::tree;
  std::vector<VertexId> cards;
  for (const CardInstance& card : topology.cards()) cards.push_back(card.vertex);
  CollectiveLowering lowering(topology, options);
  return lowering.shape({CollectiveKind::all_reduce, Bytes(bytes)}, cards).value();
}

}  // namespace

TEST_CASE("a chain of eight cards is seven hops up and seven down; two of them cross the sockets (N61)",
          "[collective]") {
  const Topology topology = test::named_machine("8x-h200-nvl-two-4-way-bridges");
  const CollectiveShape shape = tree_over(topology, 16 << 20);
  REQUIRE(shape.way.capacities.size() == 14);
  const double bridge = *std::max_element(shape.way.capacities.begin(), shape.way.capacities.end());
  CHECK(std::count(shape.way.capacities.begin(), shape.way.capacities.end(), bridge) == 12);
}

TEST_CASE("a tree pays for its first chunk: hops one after another, less a chunk of the steady state", "[collective]") {
  const Topology topology = test::named_machine("4x-8x-h200-nvl-200g");
  const CollectiveShape shape = tree_over(topology, 16 << 20);
  const SoloTime time = solo_time(shape);
  // Edges are faster than the kernels' rate or slower; links bind nothing else here, so nothing is taken off.
  const double chunks = static_cast<double>(chunks_of_channel(shape.query));
  const double chunk = time.estimate.work_bytes / chunks;
  double first = 0.0;
  for (const double capacity : shape.way.capacities) {
    first += chunk * shape.way.share / std::min(capacity, time.kernel_rate * shape.way.share);
  }
  REQUIRE(time.kernel_rate <= time.link_rate);
  CHECK(time.estimate.fill_us == Approx((first - chunk / time.rate()) * 1e6));
  // Of the whole time a third at 16 MiB, a fourteenth at 1 GiB: 18 hops, 256 chunks a channel.
  CHECK(time.estimate.fill_us > 0.2 * time.time_us());
  const SoloTime large = solo_time(tree_over(topology, 1 << 30));
  CHECK(large.estimate.fill_us < 0.1 * large.time_us());
}

TEST_CASE("rings and switches have no such way", "[collective]") {
  const Topology topology = test::named_machine("8x-h200-sxm-hgx");
  CollectiveLowering lowering(topology, {});
  std::vector<VertexId> cards;
  for (const CardInstance& card : topology.cards()) cards.push_back(card.vertex);
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::all_reduce}) {
    CHECK(lowering.shape({kind, Bytes(1 << 28)}, cards).value().way.capacities.empty());
  }
}
