// What the links of a server have left while a search deals them out to channels.
#pragma once

#include <vector>

#include "collective/nccl/paths.hpp"

namespace takt::nccl {

class LinkBudget {
 public:
  explicit LinkBudget(const RoutedMachine& machine);

  /// Takes `speed` off every link of the path, or nothing if some link has too little left. Returns whether it took.
  bool take(VertexIndex from, VertexIndex to, NcclSpeed speed);
  /// Undoes take().
  void give_back(VertexIndex from, VertexIndex to, NcclSpeed speed);

  /// What a card's PCIe slot has left, in its fuller direction.
  NcclSpeed slot_left(std::size_t gpu) const;

 private:
  void undo(const Path& path, VertexIndex from, std::size_t steps, NcclSpeed speed);
  NcclSpeed share_of(const Path& path, LinkIndex link, NcclSpeed speed) const;
  NcclSpeed reverse_share_of(VertexIndex start, LinkIndex link, NcclSpeed forward) const;

  const RoutedMachine& machine_;
  const MachineGraph& graph_;
  std::vector<NcclSpeed> left_;  ///< by LinkIndex
  bool old_cards_ = false;       ///< some before sm80
};

}  // namespace takt::nccl
