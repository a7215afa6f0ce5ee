// What a hop of a collective uses: links, and how NCCL moves data over them.
#pragma once

#include "collective/nccl/plan.hpp"
#include "collective/nccl/runtime_constants.hpp"
#include "topology/topology.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace takt {

/// The cards of a communicator in rank order, and what NCCL has found out about them; no plan where NCCL could not run
/// or is not asked.
struct CommunicatorCards {
  std::vector<VertexId> members;
  std::shared_ptr<const NcclPlan> plan;

  std::size_t size() const { return members.size(); }
};

inline constexpr std::size_t no_member = static_cast<std::size_t>(-1);

/// A transfer from one member to another. For a switch that reduces, one end is no card.
struct Hop {
  std::size_t from = no_member;  ///< position among the members
  std::size_t to = no_member;
  HopKind kind = HopKind::nvlink;
  std::vector<LinkId> links;
  Duration latency{};
  double per_unit = 1.0;  ///< bytes over the links for each byte that the lane works off
};

/// By the transport that NCCL chose (N11, N12, N12b, N14), else by the machine's own.
Hop hop_between(const CommunicatorCards& cards, std::size_t from, std::size_t to, const Topology& topology);

}  // namespace takt
