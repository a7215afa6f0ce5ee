// What NCCL reckons with for links, and which of its rules changed between releases. One row of numbers a release.
#pragma once

#include <cstdint>
#include <span>

#include "collective/nccl/settings.hpp"
#include "collective/nccl/system.hpp"

namespace takt::nccl {

/// How the tuner gets from a channel's speed to the bandwidth of NVLS.
enum class NvlsFormula : std::uint8_t {
  slower_of_two,    ///< the slower of inside and between servers
  slower_of_shares, ///< gathers and scatters: what a card does not keep to itself, and 0.9 of the network
  efficiency        ///< N43
};
enum class Ll128Cards : std::uint8_t { listed_capabilities, volta_and_newer };
enum class InterBackup : std::uint8_t { sys_always, by_nics };

/// Differences between releases (semantics N2, N3, N11, N14, N22, N42, N47; source read at the tags named there).
struct VersionRules {
  NcclVersion version = NcclVersion::v2_30;
  std::int64_t most_channels = 64;
  NcclSpeed sm100_nvlink{};
  std::span<const NcclSpeed> sm100_intra, sm100_inter;  ///< speeds tried on sm100 and newer
  Switch knows_new_xeons = Switch::on;                  ///< N3: Sapphire Rapids and newer
  Switch split_nvlink_needs_two = Switch::on;           ///< N22: two NVLink domains: at least two ring channels
  Switch bounded_by_worst_path = Switch::on;            ///< path types are tried up to the worst that exists
  Switch amd_p2p_any_distance = Switch::off;            ///< P2P up to SYS by default on AMD
  Switch pxn_needs_rdma = Switch::on;
  Switch pxn_by_c2c = Switch::on;
  Switch nearest_nics_by_gpu_count = Switch::on;        ///< a card's number counts modulo the cards near its NICs
  Ll128Cards ll128_cards = Ll128Cards::volta_and_newer;
  NvlsFormula nvls_formula = NvlsFormula::efficiency;
  double nvls_gather_ratio = 1.0;                       ///< bus to algorithm bandwidth of an NVLS all-gather
  InterBackup inter_backup = InterBackup::by_nics;
  std::int64_t nvls_ctas_sm100_one_node = 24;
  std::int64_t nvls_ctas_sm100 = 32;
};

const VersionRules& rules_of(NcclVersion version);

/// N2: one NVLink of a card.
NcclSpeed nvlink_speed(const VersionRules& rules, std::int64_t compute_capability);

/// N3: between two CPUs of a server, as the first of them has it.
NcclSpeed inter_cpu_speed(const VersionRules& rules, const NcclCpu& cpu);

/// N21: the channel speeds a search tries, fastest first.
std::span<const NcclSpeed> speeds_within_node(const VersionRules& rules, std::int64_t compute_capability);
std::span<const NcclSpeed> speeds_between_nodes(const VersionRules& rules, std::int64_t compute_capability);

}  // namespace takt::nccl
