// Constants of the collective model until the NCCL model chooses and times collectives: each once, with its source.
//
// From the feasibility study of published nccl-tests and framework measurements (46 machines, 1,342 rows); the rows that
// each constant rests on stand beside it. They hold for NCCL's ring in its Simple protocol.
#pragma once

#include <cstdint>

#include "base/units.hpp"

namespace takt::collective_constants {

/// GB/s per NVLink and direction that NCCL's kernels reach, by NVLink generation (4: sm90, 3: sm80, 5: sm100). NCCL's own
/// constants; fitted on all-gathers of H100/H200/A100/B200 boxes: 0.98 of them.
inline constexpr double nvlink_GBps_gen3 = 20.0;
inline constexpr double nvlink_GBps_gen4 = 20.6;
inline constexpr double nvlink_GBps_gen5 = 40.1;
/// NVLink data sheet rate per link and direction, GB/s (links.toml's nominal rates), to scale by.
inline constexpr double nvlink_nominal_GBps_gen3 = 25.0;
inline constexpr double nvlink_nominal_GBps_gen4 = 25.0;
inline constexpr double nvlink_nominal_GBps_gen5 = 50.0;

/// Share of the raw PCIe rate (after 128b/130b) that SM stores reach with both directions busy: 46.4 of 63 GB/s on eight
/// RTX PRO 6000, 25.3 of 31.5 on four RTX 4090, 50 of 63 on two H100 NVL.
inline constexpr double pcie_peer_share = 0.76;
/// The same when the receiver's SMs load from host memory: RTX 5090 (35, 28 of 63 GB/s), RTX 2080 Ti.
inline constexpr double pcie_staged_share = 0.60;
/// Share of a NIC's line rate in rings over RDMA: rows of more than 64 MiB on twelve IB and RoCE machines.
inline constexpr double network_share = 0.91;

/// GB/s that one CTA moves, step after step. Peer-to-peer: RTX PRO 6000 x2, L40S x2; staged: RTX PRO 6000 x8.
/// NVLink: not identified, never binds.
inline constexpr double cta_GBps_peer = 16.6;
inline constexpr double cta_GBps_staged = 13.0;
inline constexpr double cta_GBps_nvlink = 27.0;

/// Extra steps of pipeline fill on NVLink rings (lambda), n = 2 to 8, up to 1 GiB.
inline constexpr double nvlink_fill_steps = 0.40;

/// Fixed times: of a call (base plus the first Simple step) and of each further hop.
inline constexpr Duration base{4'200'000};                 // 4.2 us: smallest sizes on all machines
inline constexpr Duration first_step_nvlink{10'700'000};   // 10.7 us
inline constexpr Duration first_step_pcie{8'000'000};      // 8 us
inline constexpr Duration hop_nvlink{2'800'000};           // 2.8 us
inline constexpr Duration hop_peer{3'500'000};             // 3.5 us
inline constexpr Duration hop_staged{2'600'000};           // 2.6 us
inline constexpr Duration hop_network{17'000'000};         // 17 us: bare-metal RDMA, 14 to 20

/// What a channel sends at once in the Simple protocol: four steps of 512 KiB (semantics N60).
inline constexpr Bytes pipeline_chunk{2'097'152};

/// CTAs where the server file says nothing: NCCL's graph search gives 24 on NVLink domains, 4 on PCIe peer-to-peer and 2
/// where rings are staged through host memory (semantics N26).
inline constexpr std::int64_t ctas_nvlink = 24;
inline constexpr std::int64_t ctas_peer = 4;
inline constexpr std::int64_t ctas_staged = 2;

}  // namespace takt::collective_constants
