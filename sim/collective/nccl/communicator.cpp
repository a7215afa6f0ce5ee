#include "collective/nccl/communicator.hpp"

#include <algorithm>
#include <utility>

#include "base/contract.hpp"
#include "collective/nccl/search_view.hpp"
#include "collective/nccl/version_rules.hpp"

namespace takt::nccl {
namespace {

/// The same server with ranks 0, 1, ... so that equal servers compare equal.
NcclSystem with_local_ranks(NcclSystem system) {
  for (std::size_t gpu = 0; gpu < system.gpus.size(); ++gpu) system.gpus[gpu].rank = static_cast<std::int64_t>(gpu);
  return system;
}

/// A graph as a file prescribes it; no channels if the file has none for it or names cards that are not here.
ChannelGraph prescribed(const NcclGraphFile& file, std::int64_t id, const RoutedMachine& machine) {
  ChannelGraph graph;
  const auto wanted = std::find_if(file.graphs.begin(), file.graphs.end(),
                                   [&](const NcclFileGraph& candidate) { return candidate.id == id; });
  if (wanted == file.graphs.end()) return graph;
  graph.pattern = static_cast<ChannelPattern>(wanted->pattern);
  graph.cross_nic = static_cast<CrossNic>(wanted->cross_nic);
  graph.same = static_cast<SameChannels>(wanted->same_channels);
  graph.speed_intra = wanted->speed_intra;
  graph.speed_inter = wanted->speed_inter;
  graph.type_intra = wanted->type_intra;
  graph.type_inter = wanted->type_inter;
  graph.latency_inter = wanted->latency_inter;
  graph.cards = machine.graph.gpus.size();
  const auto card_of = [&](std::int64_t device) {
    const auto& gpus = machine.graph.gpu;
    return std::find_if(gpus.begin(), gpus.end(), [&](const NcclGpu& gpu) { return gpu.device == device; }) -
           gpus.begin();
  };
  for (const NcclFileChannel& channel : wanted->channels) {
    // A graph for NVLS names the owner only.
    if (channel.devices.size() != graph.cards && graph.pattern != ChannelPattern::nvls) return {};
    for (std::size_t step = 0; step < graph.cards; ++step) {
      const std::int64_t device = channel.devices[std::min(step, channel.devices.size() - 1)];
      const auto card = card_of(device);
      if (card == static_cast<std::ptrdiff_t>(graph.cards)) return {};
      graph.order.push_back(static_cast<std::uint16_t>(card));
    }
    ++graph.channels;
  }
  return graph;
}

/// The graphs that the file prescribes; those it leaves out are searched.
NodeGraphs graphs_of(const NcclGraphFile& file, const RoutedMachine& machine, Reach reach) {
  constexpr std::int64_t ring = 0, tree = 1, nvls = 3;  // ids of NCCL's graph files
  NodeGraphs graphs;
  graphs.ring = prescribed(file, ring, machine);
  if (graphs.ring.channels == 0) graphs.ring = find_ring(machine, reach);
  graphs.tree = prescribed(file, tree, machine);
  if (graphs.tree.channels == 0) graphs.tree = find_tree(machine, reach, graphs.ring.channels);
  if (machine.settings.nvls == Switch::on && machine.graph.gpus.size() > 1) {
    graphs.nvls = prescribed(file, nvls, machine);
    if (graphs.nvls.channels == 0) graphs.nvls = find_nvls(machine, reach);
  }
  return graphs;
}

NodeKind search_node(const NcclSystem& system, Reach reach, const NcclSettings& settings, const NcclGraphFile* file) {
  RoutedMachine machine = route(system, settings);
  NodeGraphs graphs = file ? graphs_of(*file, machine, reach) : shared_graphs(machine, reach);
  return {system, std::move(machine), std::move(graphs.ring), std::move(graphs.tree), std::move(graphs.nvls)};
}

/// Splits the servers into nodes; equal servers are looked at once.
void find_nodes(std::span<const NcclSystem> servers, const NcclSettings& settings, Communicator& communicator,
                std::vector<NcclSystem>& systems) {
  std::vector<std::pair<NcclSystem, std::vector<std::vector<std::size_t>>>> seen;
  for (std::size_t server = 0; server < servers.size(); ++server) {
    expects(!servers[server].gpus.empty(), "a server of a communicator has cards");
    const NcclSystem local = with_local_ranks(servers[server]);
    auto known = std::find_if(seen.begin(), seen.end(), [&](const auto& entry) { return entry.first == local; });
    if (known == seen.end()) {
      seen.emplace_back(local, local_groups(route(local, settings)));
      known = seen.end() - 1;
    }
    for (const std::vector<std::size_t>& group : known->second) {
      NcclSystem part = with_local_ranks(restrict_to(local, group));
      const auto same = std::find(systems.begin(), systems.end(), part);
      Node node{{}, server, static_cast<std::size_t>(same - systems.begin())};
      if (same == systems.end()) systems.push_back(std::move(part));
      for (const std::size_t gpu : group) node.ranks.push_back(servers[server].gpus[gpu].rank);
      communicator.ranks += static_cast<std::int64_t>(group.size());
      communicator.nodes.push_back(std::move(node));
    }
  }
  // Nodes are numbered by their lowest rank.
  std::stable_sort(communicator.nodes.begin(), communicator.nodes.end(), [](const Node& a, const Node& b) {
    return *std::min_element(a.ranks.begin(), a.ranks.end()) < *std::min_element(b.ranks.begin(), b.ranks.end());
  });
}

/// What two nodes can both do.
ChannelGraph agreed(ChannelGraph a, const ChannelGraph& b) {
  a.channels = std::min(a.channels, b.channels);
  a.same = std::min(a.same, b.same);
  a.speed_intra = std::min(a.speed_intra, b.speed_intra);
  a.speed_inter = std::min(a.speed_inter, b.speed_inter);
  a.type_intra = std::max(a.type_intra, b.type_intra);
  a.type_inter = std::max(a.type_inter, b.type_inter);
  a.cross_nic = std::max(a.cross_nic, b.cross_nic);
  return a;
}

void agree(Communicator& communicator) {
  const NodeKind& first = communicator.kinds[communicator.nodes.front().kind];
  communicator.ring = first.ring;
  communicator.tree = first.tree;
  communicator.nvls = first.nvls;
  for (const NodeKind& kind : communicator.kinds) {
    communicator.ring = agreed(communicator.ring, kind.ring);
    communicator.tree = agreed(communicator.tree, kind.tree);
    communicator.nvls = agreed(communicator.nvls, kind.nvls);
    communicator.tree_pattern = std::max(communicator.tree_pattern, kind.tree.pattern);
  }
  const std::int64_t channels = std::min(communicator.ring.channels, communicator.tree.channels);
  communicator.ring.channels = communicator.tree.channels = channels;
  for (ChannelGraph* graph : {&communicator.ring, &communicator.tree, &communicator.nvls}) {
    graph->order.clear();
    graph->nets.clear();
  }
}

/// Node after node in its own order. With alternating NICs odd nodes swap neighbouring channels, so that a ring meets
/// on each wire the NIC it left.
std::vector<std::int64_t> join_ring(const Communicator& communicator, std::int64_t channel) {
  std::vector<std::int64_t> ring;
  ring.reserve(static_cast<std::size_t>(communicator.ranks));
  for (std::size_t n = 0; n < communicator.nodes.size(); ++n) {
    const Node& node = communicator.nodes[n];
    const ChannelGraph& graph = communicator.kinds[node.kind].ring;
    const bool swapped =
        graph.cross_nic == CrossNic::alternating && communicator.ring.channels % 2 == 0 && n % 2 == 1;
    for (const std::uint16_t card : graph.channel(swapped ? channel ^ 1 : channel)) ring.push_back(node.ranks[card]);
  }
  return ring;
}

enum class TreeOfTwo : std::uint8_t { first, second };

/// Chains inside the nodes, a binary tree between them.
Tree join_tree(const Communicator& communicator, std::int64_t channel, TreeOfTwo which) {
  const auto rank_at = [&](std::int64_t n, std::size_t step) {
    const Node& node = communicator.nodes[static_cast<std::size_t>(n)];
    return node.ranks[communicator.kinds[node.kind].tree.channel(channel)[step]];
  };
  Tree tree;
  tree.parent.assign(static_cast<std::size_t>(communicator.ranks), Tree::no_rank);
  const std::int64_t nodes = communicator.node_count();
  const auto parent_node = [&](std::int64_t n) {
    return which == TreeOfTwo::first ? binary_tree_parent(nodes, n) : second_tree_parent(nodes, n);
  };
  for (std::int64_t n = 0; n < nodes; ++n) {
    const Node& node = communicator.nodes[static_cast<std::size_t>(n)];
    for (std::size_t step = 1; step < node.ranks.size(); ++step) {
      tree.parent[static_cast<std::size_t>(rank_at(n, step))] = rank_at(n, step - 1);
    }
    const std::int64_t above = parent_node(n);
    if (above == Tree::no_rank) continue;
    // A balanced tree's second card takes the first child, its first card the second child.
    const Node& upper = communicator.nodes[static_cast<std::size_t>(above)];
    const ChannelPattern pattern = communicator.kinds[upper.kind].tree.pattern;
    const std::int64_t place = which == TreeOfTwo::first ? n
                               : nodes % 2 == 0          ? nodes - 1 - n
                                                         : (n + nodes - 1) % nodes;
    const std::int64_t place_above = binary_tree_parent(nodes, place);
    const bool first_child = place < place_above;
    const std::size_t step = pattern == ChannelPattern::tree           ? 0
                             : pattern == ChannelPattern::split_tree   ? 1
                             : first_child && upper.ranks.size() > 1   ? 1
                                                                       : 0;
    tree.parent[static_cast<std::size_t>(rank_at(n, 0))] = rank_at(above, step);
  }
  return tree;
}

/// N25, then the limits a user sets: the first channels are kept, then repeated.
void count_channels(Communicator& communicator, const NcclSettings& settings) {
  const VersionRules& rules = rules_of(settings.version);
  const std::int64_t found = communicator.ring.channels;
  std::vector<std::size_t> search_channel;
  const auto repeat_up_to = [&](std::int64_t count) {
    const std::size_t pattern = search_channel.size();
    while (static_cast<std::int64_t>(search_channel.size()) < count) {
      search_channel.push_back(search_channel[search_channel.size() - pattern]);
    }
  };
  const std::int64_t twice = std::min(rules.most_channels, found * 2);
  for (std::int64_t c = 0; c < twice; ++c) search_channel.push_back(static_cast<std::size_t>(c));

  // Few fast channels do not reach a fast network: four CTAs a search channel then.
  constexpr NcclSpeed fast{45000};
  constexpr std::int64_t few = 16;
  std::int64_t capability = 1000;
  for (const NodeKind& kind : communicator.kinds) {
    capability = std::min(capability, least_compute_capability(kind.machine.graph));
  }
  const bool hopper = settings.version == NcclVersion::v2_21 ? capability == 90 : capability >= 90;
  if (hopper && communicator.node_count() > 1 && communicator.ring.speed_intra > fast && twice < few) {
    repeat_up_to(2 * twice);
  }
  const std::int64_t most_by_user = std::min(settings.max_channels.value_or(rules.most_channels),
                                            settings.max_ctas.value_or(rules.most_channels));
  const std::int64_t most = std::max<std::int64_t>(1, most_by_user);
  if (static_cast<std::int64_t>(search_channel.size()) > most) search_channel.resize(static_cast<std::size_t>(most));
  repeat_up_to(std::min(rules.most_channels,
                        std::max(settings.min_channels.value_or(0), settings.min_ctas.value_or(0))));

  communicator.channels = static_cast<std::int64_t>(search_channel.size());
  for (const std::size_t channel : search_channel) {
    communicator.ring_of_channel.push_back(channel % static_cast<std::size_t>(found));
    communicator.tree_of_channel.push_back(channel);
  }
  if (communicator.nvls.channels == 0) return;
  const std::int64_t preset = capability < 100                  ? 16
                              : communicator.node_count() > 1 ? rules.nvls_ctas_sm100
                                                              : rules.nvls_ctas_sm100_one_node;
  communicator.nvls_channels =
      std::max(settings.min_ctas.value_or(1), std::min(settings.max_ctas.value_or(preset), preset));
}

}  // namespace

std::int64_t binary_tree_parent(std::int64_t nodes, std::int64_t node) {
  if (node == 0) return Tree::no_rank;
  const std::int64_t low = node & -node;
  // Clearing the lowest bit and setting the next leads to the parent, unless that node does not exist.
  const std::int64_t above = (node ^ low) | (low << 1);
  return above < nodes ? above : node ^ low;
}

std::int64_t second_tree_parent(std::int64_t nodes, std::int64_t node) {
  const bool even = nodes % 2 == 0;
  const std::int64_t image = even ? nodes - 1 - node : (node + nodes - 1) % nodes;
  const std::int64_t parent = binary_tree_parent(nodes, image);
  if (parent == Tree::no_rank) return Tree::no_rank;
  return even ? nodes - 1 - parent : (parent + 1) % nodes;
}

Communicator build_communicator(std::span<const NcclSystem> servers, const NcclSettings& settings,
                                const NcclGraphFile* graph_file) {
  Communicator communicator;
  std::vector<NcclSystem> systems;
  find_nodes(servers, settings, communicator, systems);
  const Reach reach = communicator.nodes.size() == 1 ? Reach::one_node : Reach::several_nodes;
  for (const NcclSystem& system : systems) {
    communicator.kinds.push_back(search_node(system, reach, settings, graph_file));
  }
  communicator.node_of_rank.assign(static_cast<std::size_t>(communicator.ranks), -1);
  for (std::size_t n = 0; n < communicator.nodes.size(); ++n) {
    for (const std::int64_t rank : communicator.nodes[n].ranks) {
      expects(rank >= 0 && rank < communicator.ranks, "ranks of a communicator are 0 to n-1");
      communicator.node_of_rank[static_cast<std::size_t>(rank)] = static_cast<std::int64_t>(n);
    }
  }
  agree(communicator);
  for (std::int64_t c = 0; c < communicator.ring.channels; ++c) {
    communicator.rings.push_back(join_ring(communicator, c));
  }
  for (const TreeOfTwo which : {TreeOfTwo::first, TreeOfTwo::second}) {
    for (std::int64_t c = 0; c < communicator.ring.channels; ++c) {
      communicator.trees.push_back(join_tree(communicator, c, which));
    }
  }
  count_channels(communicator, settings);
  return communicator;
}

}  // namespace takt::nccl
