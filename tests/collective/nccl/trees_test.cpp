// N61: chains inside the servers, two binary trees between them.
#include "catch.hpp"

#include <algorithm>

#include "cases.hpp"

using namespace takt;
using namespace takt::test;

TEST_CASE("The two trees between nodes", "[nccl]") {
  SECTION("ten nodes: 0 above 8, which has 4 and 9 below it; the second tree is the mirror image") {
    const std::vector<std::int64_t> first{-1, 2, 4, 2, 8, 6, 4, 6, 0, 8};
    for (std::int64_t node = 0; node < 10; ++node) {
      CHECK(nccl::binary_tree_parent(10, node) == first[static_cast<std::size_t>(node)]);
      const std::int64_t mirrored = first[static_cast<std::size_t>(9 - node)];
      CHECK(nccl::second_tree_parent(10, node) == (mirrored < 0 ? -1 : 9 - mirrored));
    }
  }
  SECTION("odd numbers of nodes: the second tree is the first, one place further") {
    const std::vector<std::int64_t> first{-1, 2, 4, 2, 0}, second{1, -1, 3, 0, 3};
    for (std::int64_t node = 0; node < 5; ++node) {
      CHECK(nccl::binary_tree_parent(5, node) == first[static_cast<std::size_t>(node)]);
      CHECK(nccl::second_tree_parent(5, node) == second[static_cast<std::size_t>(node)]);
    }
  }
  SECTION("with an even number of nodes each node is a leaf in one of the trees") {
    for (const std::int64_t nodes : {2, 4, 8, 16, 64, 128}) {
      for (std::int64_t node = 0; node < nodes; ++node) {
        int inner = 0;
        bool first_has_child = false, second_has_child = false;
        for (std::int64_t other = 0; other < nodes; ++other) {
          first_has_child = first_has_child || nccl::binary_tree_parent(nodes, other) == node;
          second_has_child = second_has_child || nccl::second_tree_parent(nodes, other) == node;
        }
        inner = (first_has_child ? 1 : 0) + (second_has_child ? 1 : 0);
        CHECK(inner <= 1);
      }
    }
  }
}

TEST_CASE("Every rank hangs below one root in every tree", "[nccl]") {
  for (const char* fixture : {"hgx_h100_8", "dgx_a100_8", "h200nvl_4_quad_sw4_1nic_spr"}) {
    for (const std::size_t servers : std::vector<std::size_t>{1, 2, 3, 5}) {
      CAPTURE(fixture, servers);
      const Result<NcclPlan> plan = plan_nccl(servers_of(fixture_system(fixture), servers), {});
      REQUIRE(plan.has_value());
      const nccl::Communicator& communicator = plan->communicator;
      REQUIRE(communicator.trees.size() == 2 * communicator.rings.size());
      for (const nccl::Tree& tree : communicator.trees) {
        CHECK(std::count(tree.parent.begin(), tree.parent.end(), nccl::Tree::no_rank) == 1);
        for (std::int64_t rank = 0; rank < communicator.ranks; ++rank) {
          std::int64_t steps = 0, above = rank;
          while (tree.parent[static_cast<std::size_t>(above)] != nccl::Tree::no_rank && steps <= communicator.ranks) {
            above = tree.parent[static_cast<std::size_t>(above)];
            ++steps;
          }
          REQUIRE(steps < communicator.ranks);
        }
        // NCCL's kernels take up to three children.
        for (std::int64_t rank = 0; rank < communicator.ranks; ++rank) {
          CHECK(std::count(tree.parent.begin(), tree.parent.end(), rank) <= 3);
        }
      }
    }
  }
}

TEST_CASE("A ring over two servers leaves each of them once", "[nccl]") {
  const Result<NcclPlan> plan = plan_nccl(servers_of(fixture_system("hgx_h100_8"), 2), {});
  REQUIRE(plan.has_value());
  for (const std::vector<std::int64_t>& ring : plan->communicator.rings) {
    int crossings = 0;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      if (ring[i] / 8 != ring[(i + 1) % ring.size()] / 8) ++crossings;
    }
    CHECK(crossings == 2);
  }
}
