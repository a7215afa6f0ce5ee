// A communicator: the channels of its servers joined to rings and trees over all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "collective/nccl/channel_graph.hpp"
#include "collective/nccl/graph_file.hpp"
#include "collective/nccl/graph_search.hpp"
#include "collective/nccl/paths.hpp"
#include "collective/nccl/settings.hpp"
#include "collective/nccl/system.hpp"

namespace takt::nccl {

/// A server, or a part of one whose cards reach each other without the network (N12b): what NCCL calls a node.
struct Node {
  std::vector<std::int64_t> ranks;  ///< of its cards, by position
  std::size_t server = 0;           ///< position in the list of servers
  std::size_t kind = 0;             ///< position in Communicator::kinds
};

/// What equal nodes share: paths and graphs are found once.
struct NodeKind {
  NcclSystem system;  ///< with ranks 0, 1, ...
  RoutedMachine machine;
  ChannelGraph ring, tree, nvls;
};

/// Over all ranks: who is above each of them.
struct Tree {
  static constexpr std::int64_t no_rank = -1;
  std::vector<std::int64_t> parent;  ///< [rank]
};

struct Communicator {
  std::int64_t ranks = 0;
  std::vector<Node> nodes;
  std::vector<NodeKind> kinds;
  std::vector<std::int64_t> node_of_rank;
  /// What all nodes agree on: the least of channels and speeds, the farthest of types. `order` and `nets` are empty.
  ChannelGraph ring, tree, nvls;
  ChannelPattern tree_pattern = ChannelPattern::balanced_tree;
  std::int64_t channels = 0;       ///< N25
  std::int64_t nvls_channels = 0;  ///< CTAs of NVLS
  std::vector<std::vector<std::int64_t>> rings;  ///< ranks in ring order, one ring a search channel
  std::vector<Tree> trees;                       ///< two a search channel: first all first trees, then all second ones
  std::vector<std::size_t> ring_of_channel;      ///< [channel]: position in `rings`
  std::vector<std::size_t> tree_of_channel;      ///< [channel]: position in `trees`

  std::int64_t node_count() const { return static_cast<std::int64_t>(nodes.size()); }
};

/// Joins the servers. Ranks are 0 to n-1, each once. Needs at least one card on each server.
Communicator build_communicator(std::span<const NcclSystem> servers, const NcclSettings& settings,
                                const NcclGraphFile* graph_file);

/// N61: who is above node `node` in the first of NCCL's two binary trees over `nodes` nodes; -1 for the root.
std::int64_t binary_tree_parent(std::int64_t nodes, std::int64_t node);
/// The same for the second tree: the first one mirrored (even number of nodes) or shifted by one (odd).
std::int64_t second_tree_parent(std::int64_t nodes, std::int64_t node);

}  // namespace takt::nccl
