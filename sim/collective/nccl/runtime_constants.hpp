// The numbers of the runtime model, each once, with the measured rows it rests on. "Rows" are tables of the validation
// data (collective_rows.csv); microseconds and GB/s (10^9 bytes a second).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace takt {

/// What joins two neighbours of a ring or tree.
enum class HopKind : std::uint8_t {
  nvlink,  ///< NVLink, direct or through NVSwitches
  p2p,     ///< PCIe, card to card
  shm,     ///< PCIe, through host memory on the receiver's side
  net      ///< the network
};
inline constexpr std::size_t hop_kinds = 4;

/// How a hop behaves apart from the bandwidth of its links.
struct HopConstants {
  double usable;             ///< share of the raw link rate that NCCL's stores reach with both directions busy
  double ll_us;              ///< a step of LL
  double ll128_us;           ///< a step of LL128
  double simple_start_us;    ///< once, before a ring or tree in Simple moves
  double simple_us;          ///< a step of Simple
  double ll_per_cta;         ///< GB/s that one CTA moves in LL
  double ll128_per_cta;      ///< in LL128
  double simple_per_cta;     ///< in Simple
  double ring_overlap_loss;  ///< lambda: a ring that its links limit pays for this many steps more
};

/// What a family of cards and its hosts add.
struct HostConstants {
  double base_us;                 ///< launch and first flag of any collective
  double nvlink_simple_start_us;  ///< overrides HopConstants for NVLink
  double nvlink_simple_us;
  double nvls_efficiency;         ///< of all NVLinks of a card, when the switch reduces; 0: no NVLS
};

/// A network as NCCL's proxy threads see it.
struct FabricConstants {
  double ll_us;      ///< a crossing in LL
  double simple_us;  ///< a crossing in Simple
  double usable;     ///< of the NICs' rate
};

const HopConstants& hop_constants(HopKind kind);

/// By compute capability: 75, 80, 90, ...
const HostConstants& host_constants(std::int64_t compute_capability);

enum class NcclFabric : std::uint8_t { rdma, cloud_roce, efa, tcpx };
const FabricConstants& fabric_constants(NcclFabric kind);

// NVLS and NVLSTree.
inline constexpr double nvls_start_us = 24.0;                    ///< rows: H100 and H200 all-reduce, 2 to 32 MiB
inline constexpr double nvls_tree_start_us = 102.0;              ///< rows: two-node all-reduce (aws_p5_2n, h100_2n)
inline constexpr double nvls_fill_per_cta = 33.0;                ///< GB/s while the pipeline fills; rows as above
inline constexpr double nvls_fill_bytes = 1.6 * 1024 * 1024;     ///< at most this much a CTA
// LL and LL128 keep CTAs busy for some steps more than the ring has; rows: 64 KiB to 4 MiB of aic_*.
inline constexpr double low_latency_extra_steps = 2.8;

}  // namespace takt
