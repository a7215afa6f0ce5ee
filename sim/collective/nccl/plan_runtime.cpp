#include "collective/nccl/plan_runtime.hpp"

#include "base/contract.hpp"

#include <algorithm>

namespace takt {
namespace {

std::size_t card_of(const nccl::Node& node, std::int64_t rank) {
  const auto found = std::find(node.ranks.begin(), node.ranks.end(), rank);
  expects(found != node.ranks.end(), "a rank belongs to its node");
  return static_cast<std::size_t>(found - node.ranks.begin());
}

}  // namespace

HopKind hop_between(const NcclPlan& plan, std::int64_t from, std::int64_t to) {
  const nccl::Communicator& communicator = plan.communicator;
  const std::int64_t n = communicator.node_of_rank.at(static_cast<std::size_t>(from));
  if (n != communicator.node_of_rank.at(static_cast<std::size_t>(to))) return HopKind::net;
  const nccl::Node& node = communicator.nodes[static_cast<std::size_t>(n)];
  const nccl::RoutedMachine& machine = communicator.kinds[node.kind].machine;
  const std::size_t a = card_of(node, from), b = card_of(node, to);
  if (machine.transport(a, b) == nccl::Transport::shm) return HopKind::shm;
  return machine.gpu_path(a, b).type <= NcclPathType::nvb ? HopKind::nvlink : HopKind::p2p;
}

RingHops hops_of_ring(const NcclPlan& plan, std::size_t ring) {
  const std::vector<std::int64_t>& ranks = plan.communicator.rings.at(ring);
  RingHops hops;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    hops.add(hop_between(plan, ranks[i], ranks[(i + 1) % ranks.size()]));
  }
  return hops;
}

}  // namespace takt
