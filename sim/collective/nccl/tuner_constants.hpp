// The numbers of NCCL's tuner (semantics N42). Latencies in microseconds, bandwidths in GB/s.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "collective/nccl/settings.hpp"

namespace takt::nccl {

/// N41.
enum class CardGeneration : std::uint8_t { volta, ampere, hopper, blackwell };
enum class Hop : std::uint8_t { nvlink, pci, net };

using ByProtocol = std::array<double, nccl_protocols>;                 ///< LL, LL128, Simple
using ByAlgorithm = std::array<ByProtocol, nccl_algorithms>;           ///< in the order of NcclAlgorithm
using ByNodes = std::array<double, 3>;                                 ///< one node, two nodes, more
using ByGeneration = std::array<ByNodes, 4>;

struct TunerConstants {
  ByAlgorithm base;                ///< before the first step
  std::array<ByAlgorithm, 3> hop;  ///< by Hop
  ByGeneration most_ll;            ///< bus bandwidth of LL
  ByGeneration ring_ll128, tree_ll128, tree, nvls_tree;  ///< bus bandwidth a channel
  std::array<double, 4> nvls_efficiency;
};

TunerConstants tuner_constants(NcclVersion version);

/// N46: how much of its bandwidth a tree reaches, by protocol and by the power of two of bytes / 64.
inline constexpr std::size_t tree_correction_sizes = 24;
extern const std::array<std::array<double, tree_correction_sizes>, nccl_protocols> tree_correction;

}  // namespace takt::nccl
