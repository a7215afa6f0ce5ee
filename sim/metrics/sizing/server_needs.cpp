#include "metrics/sizing/server_needs.hpp"

#include <cmath>

namespace takt {

Bytes host_memory_rule(const CardSpec& card, std::int64_t cards, std::int64_t factor) {
  return card.memory_nominal * (cards * factor);
}

Bytes populated_memory(Bytes needed, std::int64_t modules) {
  constexpr std::array<std::int64_t, 7> sizes_gb = {16, 32, 48, 64, 96, 128, 256};  // registered DDR5
  constexpr std::int64_t gigabyte = 1'000'000'000;
  for (const std::int64_t size : sizes_gb) {
    const Bytes populated(modules * size * gigabyte);
    if (populated >= needed) return populated;
  }
  return needed;
}

std::int64_t host_cores(std::int64_t cards) {
  constexpr std::int64_t cores_a_card = 6;
  return cores_a_card * cards;
}

ReferenceCpu reference_cpu(std::int64_t cards) {
  constexpr std::int64_t few = 2, some = 4;
  if (cards <= few) return {"EPYC 9135", Power(200)};
  if (cards <= some) return {"EPYC 9355", Power(280)};
  return {"EPYC 9555", Power(360)};
}

Power server_power(Power card, std::int64_t cards, Power cpu) {
  constexpr double rest = 1.15;
  constexpr double processors = 2.0;
  return rest * (card * static_cast<double>(cards) + cpu * processors);
}

Power usable_power(const Feed& feed) {
  constexpr double continuous_load = 0.8;
  constexpr int three = 3;
  const double phase_factor = feed.phases == three ? std::sqrt(3.0) : 1.0;
  return Power(continuous_load * phase_factor * feed.volts * feed.amperes);
}

Bandwidth nominal_pcie(const CardSpec& card) {
  constexpr double gen5_lane = 4e9;  // 32 GT/s, without the 128b/130b encoding
  constexpr int gen5 = 5;
  const int generations_later = static_cast<int>(card.pcie_generation) - gen5;
  return Bandwidth(std::ldexp(gen5_lane, generations_later) * static_cast<double>(card.pcie_lanes));
}

}  // namespace takt
