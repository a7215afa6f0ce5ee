#include "collective/shape.hpp"

#include "collective/nccl/plan_cache.hpp"
#include "collective/nccl/plan_runtime.hpp"

#include <algorithm>
#include <map>

namespace takt {
namespace {

/// CTAs where nothing plans: what NCCL's search gives on NVLink domains, on PCIe and where rings are staged (N26).
constexpr std::int64_t plain_ctas_nvlink = 24, plain_ctas_peer = 4, plain_ctas_staged = 2;

/// Whether the members are all cards of each server that they visit: then the server file's channels hold.
bool whole_servers(std::span<const VertexId> members, const Topology& topology) {
  std::map<std::int32_t, std::size_t> visited;
  for (const VertexId member : members) ++visited[topology.device(member).server];
  const std::size_t cards_a_server = topology.cards().size() / static_cast<std::size_t>(topology.server_count());
  return std::all_of(visited.begin(), visited.end(), [&](const auto& s) { return s.second == cards_a_server; });
}

std::optional<std::int64_t> forced_ctas(const CommunicatorCards& cards, const Topology& topology,
                                        const CollectiveOptions& options) {
  if (options.settings.channels) return options.settings.channels;
  const std::int64_t of_server = topology.server_spec().nccl.channels;
  if (of_server > 0 && whole_servers(cards.members, topology)) return of_server;
  return std::nullopt;
}

/// The algorithms that the scenario asks for, where a call can use them.
std::vector<NcclAlgorithm> preferred(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::ring:
      return {NcclAlgorithm::ring};
    case CollectiveAlgorithm::tree:
      return {NcclAlgorithm::tree};
    case CollectiveAlgorithm::nvls:
      return {NcclAlgorithm::nvls, NcclAlgorithm::nvls_tree};
    case CollectiveAlgorithm::automatic:
    case CollectiveAlgorithm::hierarchical:
      break;
  }
  return {};
}

/// Sizing floors know one ring algorithm unless another is asked for.
bool plain_rings_asked(const CollectiveOptions& options) {
  const CollectiveAlgorithm algorithm = options.settings.algorithm;
  const bool other = algorithm == CollectiveAlgorithm::tree || algorithm == CollectiveAlgorithm::nvls;
  return !options.nccl_limits && !other;
}

std::vector<Lane> lanes_of(const CollectiveCall& call, const NcclChoice& choice, const CommunicatorCards& cards,
                           const Topology& topology) {
  if (!cards.plan) return plain_ring_lanes(cards, topology);
  switch (choice.algorithm) {
    case NcclAlgorithm::tree:
      return tree_lanes(cards, choice.ctas, topology);
    case NcclAlgorithm::nvls:
      return nvls_lanes(cards, call, topology);
    case NcclAlgorithm::nvls_tree:
      return nvls_tree_lanes(cards, topology);
    default:
      return ring_lanes(cards, choice.ctas, topology);
  }
}

/// Hops inside and between servers of the first lane; a tree's are those of a ring through the same cards.
RingHops count_hops(const Lane& lane) {
  RingHops hops;
  for (const Hop& hop : lane.hops) hops.add(hop.kind);
  return hops;
}

std::int64_t plain_ctas(const RingHops& hops) {
  if (hops.shm > 0) return plain_ctas_staged;
  return hops.p2p > 0 || hops.net > 0 ? plain_ctas_peer : plain_ctas_nvlink;
}

std::int64_t servers_of(const CommunicatorCards& cards, const Topology& topology) {
  std::map<std::int32_t, int> servers;
  for (const VertexId member : cards.members) ++servers[topology.device(member).server];
  return static_cast<std::int64_t>(servers.size());
}

}  // namespace

Result<CommunicatorCards> plan_communicator(std::span<const VertexId> members, const Topology& topology,
                                            const LinksByServer& links, const CollectiveOptions& options) {
  CommunicatorCards cards{{members.begin(), members.end()}, nullptr};
  if (members.size() < 2 || plain_rings_asked(options)) return cards;
  const std::vector<NcclSystem> systems = nccl_systems(members, topology, links);
  if (systems.empty()) return cards;
  const NcclSettings settings = with_peer_to_peer_of(options.nccl.settings, topology.server_spec());
  Result<std::shared_ptr<const NcclPlan>> plan = planned(systems, settings, options.graph_file);
  if (!plan) return plan.diagnostics();
  cards.plan = *plan;
  return cards;
}

ShapedCall shape_call(const CollectiveCall& call, const CommunicatorCards& cards, const Topology& topology,
                      const CollectiveOptions& options) {
  ShapedCall shaped;
  if (cards.plan) shaped.choice = choose(*cards.plan, call, preferred(options.settings.algorithm));
  const std::optional<std::int64_t> forced = forced_ctas(cards, topology, options);
  if (forced) shaped.choice.ctas = *forced;
  CollectiveShape& shape = shaped.shape;
  shape.lanes = lanes_of(call, shaped.choice, cards, topology);
  shape.loads = link_loads(shape.lanes, topology);
  shape.way = longest_way(shape.lanes, topology);
  for (const Lane& lane : shape.lanes) {
    for (const Hop& hop : lane.hops) shape.slowest_route = std::max(shape.slowest_route, hop.latency);
  }
  RuntimeQuery& query = shape.query;
  query.call = call;
  query.hops = cards.plan ? hops_of_ring(*cards.plan, 0) : count_hops(shape.lanes.front());
  if (!cards.plan && !forced) shaped.choice.ctas = plain_ctas(query.hops);
  query.algorithm = shaped.choice.algorithm;
  query.protocol = shaped.choice.protocol;
  query.ctas = shaped.choice.ctas;
  query.ranks = static_cast<std::int64_t>(cards.size());
  query.nodes = cards.plan ? cards.plan->communicator.node_count() : servers_of(cards, topology);
  query.compute_capability =
      topology.card_spec(topology.cards().at(static_cast<std::size_t>(topology.device(cards.members.front()).card)))
          .compute_capability;
  query.fabric = options.nccl.fabric;
  query.rate = topology.server_spec().nccl.rate;
  query.latency = topology.server_spec().nccl.latency;
  return shaped;
}

}  // namespace takt
