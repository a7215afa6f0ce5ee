#include "topology/import/link_catalog.hpp"

#include <array>
#include <cmath>
#include <fmt/format.h>

namespace takt {
namespace {

constexpr std::int64_t full_width = 16;

/// GT/s per lane of PCIe 1 to 6 (PCI-SIG base specifications).
constexpr std::array<double, newest_pcie_generation> transfer_rates = {2.5, 5.0, 8.0, 16.0, 32.0, 64.0};

LinkType scaled(const LinkType& type, double factor) {
  LinkType result = type;
  result.nominal = type.nominal * factor;
  result.effective = type.effective * factor;
  if (type.both_directions) result.both_directions = *type.both_directions * factor;
  return result;
}

double transfer_rate(std::int64_t generation) {
  const auto position = static_cast<std::size_t>(generation) - 1;
  return position < transfer_rates.size() ? transfer_rates[position] : transfer_rates.back();
}

/// PCIe x16 of a generation without a file: 128b/130b payload of the transfer rate.
LinkType raw_pcie(std::int64_t generation) {
  constexpr double bits_per_byte = 8.0;
  constexpr double encoding = 128.0 / 130.0;
  LinkType type;
  type.kind = LinkKind::pcie;
  type.generation = generation;
  type.lanes = full_width;
  type.nominal =
      Bandwidth(transfer_rate(generation) * 1e9 * static_cast<double>(full_width) * encoding / bits_per_byte);
  type.effective = type.nominal;
  type.source = "computed: transfer rate x lanes x 128/130";
  return type;
}

}  // namespace

const LinkType* LinkCatalog::find(LinkKind kind, std::int64_t generation, std::int64_t lanes) const {
  for (const auto& [id, type] : types_) {
    if (type.kind == kind && type.generation == generation && type.lanes == lanes) return &type;
  }
  return nullptr;
}

LinkType LinkCatalog::pcie(std::int64_t generation, std::int64_t lanes) const {
  if (const LinkType* type = find(LinkKind::pcie, generation, lanes)) return *type;
  const LinkType* wide = find(LinkKind::pcie, generation, full_width);
  LinkType type = scaled(wide ? *wide : raw_pcie(generation), static_cast<double>(lanes) / full_width);
  type.lanes = lanes;
  if (!wide) type.id = fmt::format("pcie{}-x{}", generation, full_width);
  return type;
}

std::optional<LinkType> LinkCatalog::one_nvlink(std::int64_t generation, NvlinkUse use, const CardSpec* card) const {
  const auto fits_card = [&](const LinkType& type) {
    if (!card || card->nvlink_links == 0) return true;
    const double rate = card->nvlink_per_direction.count() / static_cast<double>(card->nvlink_links);
    constexpr double rounding = 1e-6;  // a card file rounds what is divided here
    return std::abs(rate - type.nominal.count()) <= rounding * rate;
  };
  const LinkType* best = nullptr;
  for (const auto& [id, type] : types_) {
    const bool candidate = type.kind == LinkKind::nvlink && type.generation == generation && type.lanes == 1;
    if (!candidate || !fits_card(type)) continue;
    const bool for_bridges = std::string_view(id).ends_with("-bridge");
    if (!best || for_bridges == (use == NvlinkUse::bridge)) best = &type;
  }
  if (!best) return std::nullopt;
  return *best;
}

LinkType LinkCatalog::nvlink(std::int64_t generation, std::int64_t count, const CardSpec* card) const {
  std::optional<LinkType> one = one_nvlink(generation, NvlinkUse::bridge, card);
  if (!one) {
    one = LinkType{};
    one->id = fmt::format("nvlink{}", generation);
    one->kind = LinkKind::nvlink;
    one->generation = generation;
    if (card && card->nvlink_links > 0) {
      one->nominal = one->effective = card->nvlink_per_direction / static_cast<double>(card->nvlink_links);
      one->source = card->source;
    }
  }
  LinkType all = scaled(*one, static_cast<double>(count));
  all.lanes = count;
  return all;
}

LinkType LinkCatalog::socket(std::string_view id) const {
  const auto named = types_.find(std::string(id));
  if (named != types_.end()) return named->second;
  for (const auto& [other, type] : types_) {
    if (type.kind == LinkKind::socket) return type;
  }
  constexpr double slowest_planned = 10e9;  // what NCCL plans with between Skylake sockets (semantics N3)
  LinkType type;
  type.id = std::string(id);
  type.kind = LinkKind::socket;
  type.nominal = type.effective = Bandwidth(slowest_planned);
  type.source = "NCCL's planning constant for Skylake sockets";
  return type;
}

std::optional<std::int64_t> pcie_generation_of(double gigatransfers) {
  for (std::size_t i = 0; i < transfer_rates.size(); ++i) {
    const double difference = gigatransfers - transfer_rates[i];
    constexpr double rounding = 0.1;  // "2.5", "8.0", "7.877" (hwloc counts payload)
    if (difference > -rounding && difference < rounding) return static_cast<std::int64_t>(i) + 1;
  }
  return std::nullopt;
}

std::int64_t nvlink_generation_of(std::int64_t compute_capability) {
  // NVIDIA architecture white papers: Pascal, Volta, Ampere, Hopper, Blackwell.
  if (compute_capability >= 100) return 5;
  if (compute_capability >= 90) return 4;
  if (compute_capability >= 80) return 3;
  if (compute_capability >= 70) return 2;
  return compute_capability >= 60 ? 1 : 0;
}

}  // namespace takt
