#include "collective/nccl/runtime_constants.hpp"

namespace takt {
namespace {

// NVLink.
//   usable 1.0 of 20.6 (sm90), 20 (sm80), 40.1 (sm100) a link: aic_h100, aic_h200, aic_a100, vtrain, stas ring rows.
//   LL: slope over 2, 4, 8 cards of 1 to 16 KiB, aic_h200. Simple: first Simple sizes of aic_h200 and aic_h100.
//   LL128 steps and rate: aic_h200, aic_a100, 0.5 to 4 MiB. A CTA's 27 GB/s never binds in the rows.
//   lambda: n = 2 to 8 up to 1 GiB; 0.06 to 0.1 at 8 to 16 GiB, where it is 4 to 8 % too slow.
// P2P over PCIe: stores to another card like those over NVLink, so lambda and the rate of a CTA are NVLink's.
//   aic_rtxpro n = 2 reaches 32.3 (all-gather) and 38.6 (all-reduce): (1 + lambda) / B and (2 + lambda) / 2 B give
//   B = 48 and lambda = 0.49, NVLink's value. A CTA's rate then shows nowhere; two on an L40S do 19.6 each or more.
//   usable 0.78 of raw, over lambda: aic_rtxpro 0.74, aic_l40s n = 2 0.77 to 0.87, rtxpro6000_8_groupA 0.76,
//   rtx4090_4_p2pdriver 0.86, h100nvl_2_pcie 0.95, rtxpro6000_7_purple 0.68.
// SHM.
//   usable 0.60: rtx5090_4 35, rtx5090_8 28, rtx2080ti; rtxpro6000_8_turin with 8 CTAs 37.6, H200 NVL crossing 39.2.
//   CTA 13.0: aic_rtxpro n = 8, rtxpro6000_8_festr.
// A Simple step of either, 2.7: aic_rtxpro n = 8 (SHM) and rtxpro6000_8_groupA (P2P), 1 to 16 MiB.
// Network: its own limits are FabricConstants; a CTA's 24 GB/s never binds in the rows.
constexpr std::array<HopConstants, hop_kinds> hops{{
    {.usable = 1.0,
     .ll_us = 0.84,
     .ll128_us = 2.8,
     .simple_start_us = 10.7,
     .simple_us = 2.8,
     .ll_per_cta = 12.6,
     .ll128_per_cta = 18.6,
     .simple_per_cta = 27.0,
     .ring_overlap_loss = 0.4},
    {.usable = 0.78,
     .ll_us = 1.2,
     .ll128_us = 2.8,
     .simple_start_us = 8.0,
     .simple_us = 2.7,
     .ll_per_cta = 14.7,
     .ll128_per_cta = 18.6,
     .simple_per_cta = 27.0,
     .ring_overlap_loss = 0.4},
    {.usable = 0.60,
     .ll_us = 1.3,
     .ll128_us = 2.8,
     .simple_start_us = 8.0,
     .simple_us = 2.7,
     .ll_per_cta = 5.1,
     .ll128_per_cta = 18.6,
     .simple_per_cta = 13.0,
     .ring_overlap_loss = 0.0},
    {.usable = 1.0,
     .ll_us = 0.0,
     .ll128_us = 0.0,
     .simple_start_us = 0.0,
     .simple_us = 0.0,
     .ll_per_cta = 12.6,
     .ll128_per_cta = 18.6,
     .simple_per_cta = 24.0,
     .ring_overlap_loss = 0.0},
}};

// Smallest sizes of each family: rtx2080ti_2 8.5; A100 hosts 9.3 with slower Simple steps (aic_a100, superbench, stas);
// all others, sm86 and sm89 included, 4.2 (aic_h100, aic_h200, aic_rtxpro, aic_l40s).
// NVLS: H200 n = 5 to 8, C B = 305 +-1 %; B200 n = 6 to 8, 541 +-1 % in one harness, 0.75 in nccl-tests at 8 GiB.
constexpr HostConstants turing{8.5, 10.7, 2.8, 0.0};
constexpr HostConstants ampere{9.3, 13.0, 5.4, 0.0};
constexpr HostConstants ada{4.2, 10.7, 2.8, 0.0};
constexpr HostConstants hopper{4.2, 10.7, 2.8, 0.82};
constexpr HostConstants blackwell{4.2, 10.7, 2.8, 0.71};

// Small rows of each fabric; usable: rows over 64 MiB. RDMA: 14 to 20 us a Simple crossing (h100_2n, h100_4n,
// a100_oke), MTU 256 or 1024 alone moves a 3090's port from 8.2 to 9.8 GB/s. Cloud RoCE: h200_gke. EFA: aws_p5_2n.
// TCPX: h100_2n16_a3mega.
constexpr FabricConstants rdma{5.0, 17.0, 0.91};
constexpr FabricConstants cloud_roce{15.0, 17.0, 0.99};
constexpr FabricConstants efa{34.0, 23.0, 0.93};
constexpr FabricConstants tcpx{58.0, 116.0, 0.79};

constexpr RuntimeConstants recorded{.hops = hops,
                                    .hosts = {turing, ampere, ada, hopper, blackwell},
                                    .fabrics = {rdma, cloud_roce, efa, tcpx},
                                    .nvls_start_us = 24.0,
                                    .nvls_tree_start_us = 102.0,
                                    .nvls_fill_per_cta = 33.0,
                                    .low_latency_extra_steps = 2.8};

}  // namespace

HostFamily host_family(std::int64_t compute_capability) {
  if (compute_capability >= 100) return HostFamily::blackwell;
  if (compute_capability >= 90) return HostFamily::hopper;
  if (compute_capability > 80) return HostFamily::ada;
  return compute_capability == 80 ? HostFamily::ampere : HostFamily::turing;
}

const RuntimeConstants& recorded_constants() {
  return recorded;
}

}  // namespace takt
