#include "topology/import/cpu_family.hpp"

#include <algorithm>
#include <array>

namespace takt {
namespace {

constexpr Bandwidth gigabytes(double per_second) {
  return Bandwidth(per_second * 1e9);
}

// Channels and transfer rates: the vendors' product pages, one DIMM a channel.
constexpr std::array families = {
    CpuFamily{"intel-bdw", 3, gigabytes(76.8), "4 x DDR4-2400", "qpi-bdw"},
    CpuFamily{"intel-skl", 3, gigabytes(140.8), "6 x DDR4-2933", "upi-skl"},
    CpuFamily{"intel-icx", 4, gigabytes(204.8), "8 x DDR4-3200", "upi-icx"},
    CpuFamily{"intel-spr", 5, gigabytes(307.2), "8 x DDR5-4800", "upi-spr"},
    CpuFamily{"intel-emr", 5, gigabytes(358.4), "8 x DDR5-5600", "upi-emr"},
    CpuFamily{"intel-gnr", 5, gigabytes(409.6), "8 x DDR5-6400", "upi-gnr"},
    CpuFamily{"amd-naples", 3, gigabytes(170.6), "8 x DDR4-2666", "xgmi-rome"},
    CpuFamily{"amd-rome", 4, gigabytes(204.8), "8 x DDR4-3200", "xgmi-rome"},
    CpuFamily{"amd-milan", 4, gigabytes(204.8), "8 x DDR4-3200", "xgmi-milan"},
    CpuFamily{"amd-genoa", 5, gigabytes(460.8), "12 x DDR5-4800", "xgmi-genoa"},
    CpuFamily{"amd-turin", 5, gigabytes(576.0), "12 x DDR5-6000", "xgmi-turin"},
    CpuFamily{"nvidia-grace", 5, gigabytes(512.0), "LPDDR5X, 480 GB module", "socket-arm"},
};

/// AMD: NCCL adds the extended family shifted by four to the base family 15 (semantics N3 reads the same field).
std::int64_t amd_family(std::int64_t family) {
  constexpr std::int64_t base = 15;
  constexpr std::int64_t shifted_extension = 16;
  return family > 128 ? base + (family - base) / shifted_extension : family;
}

std::string intel_id(std::int64_t model) {
  switch (model) {  // Intel Software Developer's Manual, volume 4, table 2-1
    case 0x4f:
    case 0x56:
      return "intel-bdw";
    case 0x55:
      return "intel-skl";  // Skylake, Cascade Lake and Cooper Lake share the number
    case 0x6a:
    case 0x6c:
      return "intel-icx";
    case 0x8f:
      return "intel-spr";
    case 0xcf:
      return "intel-emr";
    case 0xad:
    case 0xae:
      return "intel-gnr";
    default:
      return "";
  }
}

std::string amd_id(std::int64_t family, std::int64_t model) {
  switch (amd_family(family)) {  // AMD processor programming references
    case 23:
      return model >= 0x30 ? "amd-rome" : "amd-naples";
    case 25:
      return model >= 0x10 && model != 0x21 ? "amd-genoa" : "amd-milan";  // 0x21: desktop Zen 3
    case 26:
      return "amd-turin";
    default:
      return "";
  }
}

}  // namespace

std::optional<CpuFamily> cpu_family(std::string_view id) {
  const auto* const found =
      std::find_if(families.begin(), families.end(), [&](const CpuFamily& f) { return f.id == id; });
  if (found == families.end()) return std::nullopt;
  return *found;
}

std::string cpu_family_id(std::string_view vendor, std::int64_t family, std::int64_t model) {
  constexpr std::int64_t intel_family = 6;
  if (vendor == "GenuineIntel" && family == intel_family) return intel_id(model);
  if (vendor == "AuthenticAMD") return amd_id(family, model);
  return "";
}

std::string_view assumed_cpu_family(std::int64_t pcie_generation) {
  constexpr std::int64_t gen3 = 3;
  constexpr std::int64_t gen4 = 4;
  if (pcie_generation <= gen3) return "intel-skl";
  return pcie_generation == gen4 ? "intel-icx" : "intel-spr";
}

std::vector<std::string> cpu_family_ids() {
  std::vector<std::string> ids;
  for (const CpuFamily& family : families) ids.emplace_back(family.id);
  return ids;
}

}  // namespace takt
