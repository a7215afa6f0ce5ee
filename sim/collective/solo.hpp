// How long a collective takes on its links when nothing else runs, and what limits it.
//
// All lanes together move one unit of work while lane i moves share_i. A link direction that the lanes load with u
// units a unit of work, u = sum of share_i x bytes over it, allows capacity / u. What NCCL's kernels reach of it (SM
// stores over PCIe, the NVLink protocol, proxies at a NIC) is lower and differs by kind of hop: sum_k u_k / (raw x
// usable_k) seconds a unit. The first is a capacity that others share; the second a cap on this collective alone.
#pragma once

#include "collective/lanes.hpp"
#include "collective/nccl/runtime_model.hpp"
#include "collective/tree_way.hpp"
#include "topology/topology.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace takt {

/// A link direction as a collective loads it.
struct LinkLoad {
  LinkId link{};
  LinkKind kind = LinkKind::pcie;
  double capacity = 0.0;                    ///< bytes/s
  double raw = 0.0;                         ///< bytes/s that `usable` is a share of; infinite: no such limit
  std::array<double, hop_kinds> by_kind{};  ///< bytes a byte of the collective's work, by kind of hop

  double all_kinds() const;
};

/// One collective call, ready to be timed: with any constants.
struct CollectiveShape {
  RuntimeQuery query;  ///< without rates
  std::vector<Lane> lanes;
  std::vector<LinkLoad> loads;  ///< in order of link id
  TreeWay way;                  ///< of a tree
  Duration slowest_route{};
};

/// The loads of lanes on links; of links that are alike the first alone.
std::vector<LinkLoad> link_loads(std::span<const Lane> lanes, const Topology& topology);

/// Rates in work units (bytes of RuntimeEstimate::work_bytes) a second.
struct SoloTime {
  RuntimeEstimate estimate;                ///< its link_rate is what NCCL's kernels reach
  double kernel_rate = 0.0;                ///< the lesser of links as kernels use them and CTAs: the cap
  double link_rate = 0.0;                  ///< what capacities allow
  const LinkLoad* kernel_link = nullptr;   ///< which link limits the kernels, if CTAs do not
  const LinkLoad* busiest_link = nullptr;  ///< which capacity binds first

  double rate() const { return kernel_rate < link_rate ? kernel_rate : link_rate; }
  double time_us() const;
};

SoloTime solo_time(const CollectiveShape& shape, const RuntimeConstants& constants = recorded_constants());

/// "what NCCL's kernels reach on gpu0 -> sw0", "gpu0 -> sw0", "2 CTAs of 13 GB/s".
std::string limit_of(const SoloTime& time, const CollectiveShape& shape, const Topology& topology);

}  // namespace takt
