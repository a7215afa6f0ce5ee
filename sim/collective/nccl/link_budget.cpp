#include "collective/nccl/link_budget.hpp"

#include <algorithm>

namespace takt::nccl {

LinkBudget::LinkBudget(const RoutedMachine& machine) : machine_(machine), graph_(machine.graph) {
  left_.reserve(graph_.links.size());
  for (const Link& link : graph_.links) left_.push_back(link.speed);
  old_cards_ = least_compute_capability(graph_) < 80;
}

bool LinkBudget::take(VertexIndex from, VertexIndex to, NcclSpeed speed) {
  const Path& path = machine_.paths(from, to);
  for (std::size_t i = 0; i < path.links.size(); ++i) {
    const LinkIndex link = path.links[i];
    const NcclSpeed forward = share_of(path, link, speed);
    const NcclSpeed backward = reverse_share_of(from, link, forward);
    const LinkIndex reverse = graph_.at(link).reverse;
    if (left_[index(link)] < forward || (backward.count() > 0 && left_[index(reverse)] < backward)) {
      undo(path, from, i, speed);
      return false;
    }
    left_[index(link)] -= forward;
    left_[index(reverse)] -= backward;
  }
  return true;
}

void LinkBudget::give_back(VertexIndex from, VertexIndex to, NcclSpeed speed) {
  const Path& path = machine_.paths(from, to);
  undo(path, from, path.links.size(), speed);
}

NcclSpeed LinkBudget::slot_left(std::size_t gpu) const {
  for (const LinkIndex link : graph_.at(graph_.gpus[gpu]).links) {
    if (graph_.at(link).kind != LinkKind::pci) continue;
    return std::min(left_[index(link)], left_[index(graph_.at(link).reverse)]);
  }
  return NcclSpeed(0);
}

void LinkBudget::undo(const Path& path, VertexIndex from, std::size_t steps, NcclSpeed speed) {
  for (std::size_t i = 0; i < steps; ++i) {
    const LinkIndex link = path.links[i];
    const NcclSpeed forward = share_of(path, link, speed);
    left_[index(link)] += forward;
    left_[index(graph_.at(link).reverse)] += reverse_share_of(from, link, forward);
  }
}

/// N22: card to card through an Intel host bridge takes 6/5 on PCIe.
NcclSpeed LinkBudget::share_of(const Path& path, LinkIndex link, NcclSpeed speed) const {
  const bool taxed = path.tax == HostBridgeTax::intel && graph_.at(link).kind == LinkKind::pci;
  return taxed ? speed * 6 / 5 : speed;
}

/// N22: what others than cards write to a card before sm80 takes an eighth of the other direction as well.
NcclSpeed LinkBudget::reverse_share_of(VertexIndex start, LinkIndex link, NcclSpeed forward) const {
  if (!old_cards_) return NcclSpeed(0);
  const Vertex& target = graph_.at(graph_.at(link).to);
  const bool old_card = target.kind == VertexKind::gpu && graph_.gpu[target.position].compute_capability < 80;
  if (!old_card || graph_.at(start).kind == VertexKind::gpu) return NcclSpeed(0);
  return (forward + NcclSpeed(4)) / 8;  // rounded
}

}  // namespace takt::nccl
