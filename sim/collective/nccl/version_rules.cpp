#include "collective/nccl/version_rules.hpp"

#include <array>
#include <cstddef>

namespace takt::nccl {
namespace {

template <std::size_t N>
constexpr std::array<NcclSpeed, N> in_megabytes(const std::array<std::int64_t, N>& values) {
  std::array<NcclSpeed, N> speeds{};
  for (std::size_t i = 0; i < N; ++i) speeds[i] = NcclSpeed(values[i]);
  return speeds;
}

// N21, MB/s.
constexpr auto ampere_intra = in_megabytes(std::array<std::int64_t, 13>{
    40000, 30000, 20000, 18000, 15000, 12000, 10000, 9000, 7000, 6000, 5000, 4000, 3000});
constexpr auto ampere_inter = in_megabytes(std::array<std::int64_t, 19>{
    48000, 30000, 28000, 24000, 20000, 18000, 15000, 12000, 10000, 9000,
    7000, 6000, 5000, 4000, 3000, 2400, 1200, 240, 120});
constexpr auto hopper_intra = in_megabytes(std::array<std::int64_t, 11>{
    60000, 50000, 40000, 30000, 24000, 20000, 15000, 12000, 11000, 6000, 3000});
constexpr auto hopper_inter = in_megabytes(std::array<std::int64_t, 17>{
    48000, 45000, 42000, 40000, 30000, 24000, 22000, 20000, 17500, 15000, 12000, 6000, 3000, 2400, 1200, 240, 120});
constexpr auto blackwell_intra_2_26 = in_megabytes(std::array<std::int64_t, 10>{
    90000, 80000, 70000, 60000, 50000, 40000, 30000, 24000, 20000, 19000});
constexpr auto blackwell_inter_2_26 = hopper_inter;
constexpr auto blackwell_intra_2_27 = in_megabytes(std::array<std::int64_t, 11>{
    90000, 80000, 70000, 60000, 50000, 40000, 30000, 24000, 20000, 19000, 18000});
constexpr auto blackwell_inter_2_27 = in_megabytes(std::array<std::int64_t, 17>{
    48000, 45100, 42000, 40000, 30000, 24000, 22000, 20000, 17500, 15000, 12000, 6000, 3000, 2400, 1200, 240, 120});
constexpr auto blackwell_intra_2_30 = in_megabytes(std::array<std::int64_t, 12>{
    90000, 80000, 70000, 60000, 50000, 45000, 40000, 30000, 24000, 20000, 19000, 18000});
constexpr auto blackwell_inter_2_30 = in_megabytes(std::array<std::int64_t, 20>{
    96000, 86000, 80000, 48000, 45100, 42000, 40000, 30000, 24000, 22000,
    20000, 17500, 15000, 12000, 6000, 3000, 2400, 1200, 240, 120});

constexpr NcclSpeed megabytes(std::int64_t value) { return NcclSpeed(value); }

// sm100 does not exist for 2.21: such cards get Hopper's numbers there.
const std::array<VersionRules, 4> table{{
    {.version = NcclVersion::v2_21,
     .most_channels = 32,
     .sm100_nvlink = megabytes(20600),
     .sm100_intra = hopper_intra,
     .sm100_inter = hopper_inter,
     .knows_new_xeons = Switch::off,
     .split_nvlink_needs_two = Switch::off,
     .bounded_by_worst_path = Switch::off,
     .amd_p2p_any_distance = Switch::on,
     .pxn_needs_rdma = Switch::off,
     .pxn_by_c2c = Switch::off,
     .nearest_nics_by_gpu_count = Switch::off,
     .ll128_cards = Ll128Cards::listed_capabilities,
     .nvls_formula = NvlsFormula::slower_of_two,
     .nvls_gather_ratio = 5.0 / 6.0,
     .inter_backup = InterBackup::sys_always,
     .nvls_ctas_sm100_one_node = 16,
     .nvls_ctas_sm100 = 16},
    {.version = NcclVersion::v2_26,
     .sm100_nvlink = megabytes(40000),
     .sm100_intra = blackwell_intra_2_26,
     .sm100_inter = blackwell_inter_2_26,
     .pxn_needs_rdma = Switch::off,
     .pxn_by_c2c = Switch::off,
     .nearest_nics_by_gpu_count = Switch::off,
     .ll128_cards = Ll128Cards::listed_capabilities,
     .nvls_formula = NvlsFormula::slower_of_two,
     .inter_backup = InterBackup::sys_always,
     .nvls_ctas_sm100_one_node = 32},
    {.version = NcclVersion::v2_27,
     .sm100_nvlink = megabytes(40100),
     .sm100_intra = blackwell_intra_2_27,
     .sm100_inter = blackwell_inter_2_27,
     .pxn_needs_rdma = Switch::off,
     .pxn_by_c2c = Switch::off,
     .nearest_nics_by_gpu_count = Switch::off,
     .nvls_formula = NvlsFormula::slower_of_shares,
     .inter_backup = InterBackup::sys_always},
    {.version = NcclVersion::v2_30,
     .sm100_nvlink = megabytes(40100),
     .sm100_intra = blackwell_intra_2_30,
     .sm100_inter = blackwell_inter_2_30},
}};

NcclSpeed intel_speed(const VersionRules& rules, const NcclCpu& cpu) {
  // First model numbers of a generation, family 6: Skylake, Sapphire Rapids, Emerald Rapids.
  constexpr std::int64_t skylake = 0x55, sapphire_rapids = 0x8F, emerald_rapids = 0xCF;
  if (cpu.family != 6 || cpu.model < skylake) return megabytes(6000);
  if (rules.knows_new_xeons == Switch::off || cpu.model < sapphire_rapids) return megabytes(10000);
  return cpu.model < emerald_rapids ? megabytes(22000) : megabytes(40000);
}

}  // namespace

const VersionRules& rules_of(NcclVersion version) { return table[static_cast<std::size_t>(version)]; }

NcclSpeed nvlink_speed(const VersionRules& rules, std::int64_t compute_capability) {
  if (compute_capability >= 100) return rules.sm100_nvlink;
  if (compute_capability >= 90) return megabytes(20600);
  if (compute_capability == 86) return megabytes(12000);
  if (compute_capability >= 70) return megabytes(20000);
  return compute_capability >= 60 ? megabytes(18000) : megabytes(20000);
}

NcclSpeed inter_cpu_speed(const VersionRules& rules, const NcclCpu& cpu) {
  if (cpu.architecture == CpuArchitecture::power) return megabytes(32000);
  if (cpu.architecture == CpuArchitecture::arm) return megabytes(6000);
  switch (cpu.vendor) {
    case CpuVendor::intel: return intel_speed(rules, cpu);
    case CpuVendor::amd: return megabytes(16000);
    case CpuVendor::zhaoxin: return cpu.family == 7 && cpu.model == 0x5B ? megabytes(9000) : megabytes(6000);
    case CpuVendor::other: break;
  }
  return megabytes(5000000);  // N4: what NCCL does not know is as fast as the device itself
}

std::span<const NcclSpeed> speeds_within_node(const VersionRules& rules, std::int64_t compute_capability) {
  if (compute_capability >= 100) return rules.sm100_intra;
  if (compute_capability >= 90) return hopper_intra;
  return ampere_intra;
}

std::span<const NcclSpeed> speeds_between_nodes(const VersionRules& rules, std::int64_t compute_capability) {
  if (compute_capability >= 100) return rules.sm100_inter;
  if (compute_capability >= 90) return hopper_inter;
  return ampere_inter;
}

}  // namespace takt::nccl
