#include "collective/transfer.hpp"

#include "base/contract.hpp"
#include "collective/nccl/nic_affinity.hpp"
#include "collective/nccl/plan_runtime.hpp"

#include <algorithm>

namespace takt {
namespace {

/// GPUDirect between a rank and the port it sends by.
NicAccess access_of(const NcclPlan& plan, std::size_t rank, nccl::RdmaDirection direction) {
  const nccl::Communicator& communicator = plan.communicator;
  const auto n = static_cast<std::size_t>(communicator.node_of_rank[rank]);
  const nccl::Node& node = communicator.nodes[n];
  const nccl::RoutedMachine& machine = communicator.kinds[node.kind].machine;
  const auto place = std::find(node.ranks.begin(), node.ranks.end(), static_cast<std::int64_t>(rank));
  const auto gpu = static_cast<std::size_t>(place - node.ranks.begin());
  const std::vector<std::size_t> nets = nccl::nets_of_gpu(machine, gpu);
  if (nets.empty()) return NicAccess::host_staged;
  return nccl::uses_direct_rdma(machine, gpu, nets.front(), direction) ? NicAccess::direct : NicAccess::host_staged;
}

TransferWay way_of(const NcclPlan& plan, std::size_t from, std::size_t to, HopKind kind) {
  switch (kind) {
    case HopKind::nvlink:
    case HopKind::p2p:
      return {Transport::peer_to_peer};
    case HopKind::shm:
      return {Transport::host_staged};
    case HopKind::net:
      // The sender's NIC reads the card's memory, the receiver's writes it.
      return {Transport::network, access_of(plan, from, nccl::RdmaDirection::read),
              access_of(plan, to, nccl::RdmaDirection::write)};
  }
  unreachable("a kind of hop");
}

HopKind kind_of(const CardRoute& route) {
  switch (route.transport) {
    case Transport::peer_to_peer:
      return route.type == PathType::nvlink ? HopKind::nvlink : HopKind::p2p;
    case Transport::host_staged:
      return HopKind::shm;
    case Transport::network:
      return HopKind::net;
  }
  unreachable("a transport");
}

}  // namespace

Hop hop_between(const CommunicatorCards& cards, std::size_t from, std::size_t to, const Topology& topology) {
  const VertexId sender = cards.members[from], receiver = cards.members[to];
  const CardRoute* route = &topology.card_route(sender, receiver);
  HopKind kind = kind_of(*route);
  if (cards.plan) {
    const HopKind chosen = hop_between(*cards.plan, static_cast<std::int64_t>(from), static_cast<std::int64_t>(to));
    const CardRoute& by_plan = topology.card_route(sender, receiver, way_of(*cards.plan, from, to, chosen));
    // A way that the machine lacks (NVLink by way of a third card) stays with the machine's own.
    if (by_plan.type != PathType::disconnected) {
      route = &by_plan;
      kind = chosen;
    }
  }
  return {from, to, kind, route->route.links, route->route.latency, 1.0};
}

}  // namespace takt
