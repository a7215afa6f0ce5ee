// How long a collective takes on the links it really uses. NCCL's plan contributes algorithm, protocol and CTAs; its
// planned time is not used.
#pragma once

#include "collective/call.hpp"
#include "collective/nccl/runtime_constants.hpp"
#include "collective/nccl/settings.hpp"

#include <cstdint>

namespace takt {

/// The hops of one ring over all ranks, by kind.
struct RingHops {
  std::int64_t nvlink = 0, p2p = 0, shm = 0, net = 0;

  void add(HopKind kind);
};

struct RuntimeQuery {
  CollectiveCall call;
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  std::int64_t ctas = 1;
  std::int64_t ranks = 2;
  std::int64_t nodes = 1;
  RingHops hops;
  /// GB/s that an edge of the ring gets, all channels together: the max-min share on its links, each of which counts
  /// its usable rate. For a tree: what an edge gets while the ways up and down run together (through NVSwitches an
  /// inner card sends both over the same links and each gets half; over a PCIe crossing they go opposite ways). For
  /// NVLS and NVLSTree: all NVLinks of a card.
  double edge_rate = 0.0;
  double network_rate = 0.0;  ///< NVLSTree: GB/s of the whole buffer that the network takes, up and down together
  std::int64_t compute_capability = 90;
  NcclFabric fabric = NcclFabric::rdma;
  double rate = 1.0;     ///< of kernels on this server over the constants', as its file says
  double latency = 1.0;  ///< of fixed times, likewise
};

enum class RuntimeLimit : std::uint8_t { links, ctas, network };

/// Fixed times, then `work` bytes of each edge at the lesser of what links and CTAs can do.
struct RuntimeEstimate {
  double start_us = 0.0;    ///< once
  double steps_us = 0.0;    ///< all steps of the longest way
  double fill_us = 0.0;     ///< until a tree's pipeline is full; depends on its edges, see solo_time()
  std::int64_t steps = 0;   ///< h of a ring; up and down of a tree; 0 for NVLS
  double work_bytes = 0.0;  ///< what an edge carries, with the protocol's flags and the ring's overlap loss
  double link_rate = 0.0;   ///< GB/s, as given
  double cta_rate = 0.0;    ///< GB/s of `work` that the CTAs can do; infinite where they do not bind
  double per_cta = 0.0;     ///< GB/s that one CTA moves of its data, step after step
  RuntimeLimit limit = RuntimeLimit::links;

  double fixed_us() const { return start_us + steps_us + fill_us; }
  double time_us() const;
};

/// Needs ranks >= 2, ctas >= 1, edge_rate > 0. CollNet and PAT are not modelled: PAT is taken as a ring.
RuntimeEstimate estimate_runtime(const RuntimeQuery& query, const RuntimeConstants& constants = recorded_constants());

}  // namespace takt
