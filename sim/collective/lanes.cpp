#include "collective/lanes.hpp"

#include "base/contract.hpp"

#include <algorithm>
#include <map>

namespace takt {
namespace {

double as_double(std::size_t value) {
  return static_cast<double>(value);
}

/// The ring from rank 0 on, so that equal rings compare equal.
std::vector<std::int64_t> from_zero(std::vector<std::int64_t> ring) {
  std::rotate(ring.begin(), std::find(ring.begin(), ring.end(), 0), ring.end());
  return ring;
}

Lane ring_lane(const CommunicatorCards& cards, std::span<const std::int64_t> ranks, double share,
               const Topology& topology) {
  Lane lane{LaneKind::ring, share, {}};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto from = static_cast<std::size_t>(ranks[i]);
    const auto to = static_cast<std::size_t>(ranks[(i + 1) % ranks.size()]);
    lane.hops.push_back(hop_between(cards, from, to, topology));
  }
  return lane;
}

/// The NVLinks between a card and the switches: up and down.
struct SwitchLinks {
  LinkId up{}, down{};
};

SwitchLinks switch_links(const CommunicatorCards& cards, std::size_t member, const Topology& topology) {
  const std::size_t other = member == 0 ? 1 : 0;
  // Any route to another card of the server goes up first; its reverse link comes down.
  for (std::size_t step = 0; step < cards.size(); ++step) {
    const std::size_t peer = (other + step) % cards.size();
    if (peer == member) continue;
    const CardRoute& route = topology.card_route(cards.members[member], cards.members[peer]);
    if (route.type != PathType::nvlink || route.route.links.empty()) continue;
    const LinkId up = route.route.links.front();
    return {up, topology.link(up).reverse};
  }
  unreachable("a card of an NVLS collective has NVLinks");
}

void add_switch_hops(Lane& lane, const CommunicatorCards& cards, double up, double down, const Topology& topology) {
  for (std::size_t member = 0; member < cards.size(); ++member) {
    const SwitchLinks links = switch_links(cards, member, topology);
    lane.hops.push_back({member, no_member, HopKind::nvlink, {links.up}, topology.link(links.up).latency, up});
    lane.hops.push_back({no_member, member, HopKind::nvlink, {links.down}, topology.link(links.down).latency, down});
  }
}

}  // namespace

std::vector<Lane> ring_lanes(const CommunicatorCards& cards, std::int64_t ctas, const Topology& topology) {
  const nccl::Communicator& communicator = cards.plan->communicator;
  std::map<std::vector<std::int64_t>, std::size_t> channels;
  for (std::int64_t c = 0; c < ctas; ++c) {
    const auto& by_channel = communicator.ring_of_channel;
    const std::size_t ring = by_channel[static_cast<std::size_t>(c) % by_channel.size()];
    ++channels[from_zero(communicator.rings[ring])];
  }
  std::vector<Lane> lanes;
  for (const auto& [ranks, count] : channels) {
    lanes.push_back(ring_lane(cards, ranks, as_double(count) / static_cast<double>(ctas), topology));
  }
  return lanes;
}

std::vector<Lane> plain_ring_lanes(const CommunicatorCards& cards, const Topology& topology) {
  std::map<VertexId, std::int64_t> rank_of;
  for (const VertexId member : cards.members) rank_of.emplace(member, static_cast<std::int64_t>(rank_of.size()));
  const std::vector<RingOrder> orders = ring_orders(cards.members, topology);
  std::vector<Lane> lanes;
  for (const RingOrder& order : orders) {
    std::vector<std::int64_t> ranks;
    for (const VertexId card : order) ranks.push_back(rank_of.at(card));
    lanes.push_back(ring_lane(cards, ranks, 1.0 / as_double(orders.size()), topology));
  }
  return lanes;
}

std::vector<Lane> tree_lanes(const CommunicatorCards& cards, std::int64_t ctas, const Topology& topology) {
  const nccl::Communicator& communicator = cards.plan->communicator;
  std::map<std::vector<std::int64_t>, std::size_t> channels;
  for (std::int64_t c = 0; c < ctas; ++c) {
    const auto& by_channel = communicator.tree_of_channel;
    const std::size_t tree = by_channel[static_cast<std::size_t>(c) % by_channel.size()];
    ++channels[communicator.trees[tree].parent];
  }
  std::vector<Lane> lanes;
  for (const auto& [parent, count] : channels) {
    Lane up{LaneKind::tree_up, as_double(count) / static_cast<double>(ctas), {}};
    Lane down{LaneKind::tree_down, up.share, {}};
    for (std::size_t rank = 0; rank < parent.size(); ++rank) {
      if (parent[rank] == nccl::Tree::no_rank) continue;
      const auto above = static_cast<std::size_t>(parent[rank]);
      up.hops.push_back(hop_between(cards, rank, above, topology));
      down.hops.push_back(hop_between(cards, above, rank, topology));
    }
    lanes.push_back(std::move(up));
    lanes.push_back(std::move(down));
  }
  return lanes;
}

std::vector<Lane> nvls_lanes(const CommunicatorCards& cards, const CollectiveCall& call, const Topology& topology) {
  const double part = 1.0 / as_double(cards.size());
  double up = 1.0, down = 1.0;
  if (call.kind == CollectiveKind::all_gather) up = part;
  if (call.kind == CollectiveKind::reduce_scatter) down = part;
  Lane lane{LaneKind::switches, 1.0, {}};
  add_switch_hops(lane, cards, up, down, topology);
  return {lane};
}

std::vector<Lane> nvls_tree_lanes(const CommunicatorCards& cards, const Topology& topology) {
  const nccl::Communicator& communicator = cards.plan->communicator;
  const std::int64_t nodes = communicator.node_count();
  const std::size_t heads = communicator.nodes.front().ranks.size();
  const double inside = 1.0 + 1.0 / as_double(heads);
  Lane lane{LaneKind::switches, 1.0, {}};
  add_switch_hops(lane, cards, inside, inside, topology);
  const double part = 1.0 / (2.0 * as_double(heads));  // of each head in each of the two trees
  for (std::int64_t n = 0; n < nodes; ++n) {
    for (const std::int64_t above : {nccl::binary_tree_parent(nodes, n), nccl::second_tree_parent(nodes, n)}) {
      if (above < 0) continue;
      const auto& own = communicator.nodes[static_cast<std::size_t>(n)].ranks;
      const auto& parents = communicator.nodes[static_cast<std::size_t>(above)].ranks;
      for (std::size_t head = 0; head < std::min(heads, own.size()); ++head) {
        const auto child = static_cast<std::size_t>(own[head]);
        const auto parent = static_cast<std::size_t>(parents[head % parents.size()]);
        for (const auto& [from, to] : {std::pair(child, parent), std::pair(parent, child)}) {
          lane.hops.push_back(hop_between(cards, from, to, topology));
          lane.hops.back().per_unit = part;
        }
      }
    }
  }
  return {lane};
}

}  // namespace takt
