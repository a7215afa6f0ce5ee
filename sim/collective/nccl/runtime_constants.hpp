// The numbers of the runtime model, each once, with the measured rows it rests on. "Rows" are tables of the validation
// data (validation/collectives/rows.csv); microseconds and GB/s (10^9 bytes a second).
#pragma once

#include "config/nccl_settings.hpp"

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
  double nvls_efficiency;  ///< of all NVLinks of a card, when the switch reduces; 0: no NVLS
};
enum class HostFamily : std::uint8_t { turing, ampere, ada, hopper, blackwell };
inline constexpr std::size_t host_families = 5;

/// By compute capability: 75, 80, 90, ...
HostFamily host_family(std::int64_t compute_capability);

/// A network as NCCL's proxy threads see it.
struct FabricConstants {
  double ll_us;      ///< a crossing in LL
  double simple_us;  ///< a crossing in Simple
  double usable;     ///< of the NICs' rate
};
inline constexpr std::size_t nccl_fabrics = 4;

struct RuntimeConstants {
  std::array<HopConstants, hop_kinds> hops;
  std::array<HostConstants, host_families> hosts;
  std::array<FabricConstants, nccl_fabrics> fabrics;
  double nvls_start_us;       ///< rows: H100 and H200 all-reduce, 2 to 32 MiB
  double nvls_tree_start_us;  ///< rows: two-node all-reduce (aws_p5_2n, h100_2n)
  double nvls_fill_per_cta;   ///< GB/s while the pipeline fills; rows as above
  double
      low_latency_extra_steps;  ///< LL and LL128 keep CTAs busy for more steps than the ring has; aic_*, 64 KiB-4 MiB

  const HopConstants& of(HopKind kind) const { return hops[static_cast<std::size_t>(kind)]; }
  const HostConstants& of(HostFamily family) const { return hosts[static_cast<std::size_t>(family)]; }
  const FabricConstants& of(NcclFabric fabric) const { return fabrics[static_cast<std::size_t>(fabric)]; }
};

/// What fits the measurements; every prediction uses these unless constants are being fitted.
const RuntimeConstants& recorded_constants();

/// NVLS fills its pipeline with at most this much a CTA: a channel's buffers, 1.6 MiB.
inline constexpr double nvls_fill_bytes = 1.6 * 1024 * 1024;

}  // namespace takt
