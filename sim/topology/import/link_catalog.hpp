// Link types by what they are, not by name: "PCIe Gen4 x8", "one NVLink of a Hopper card".
#pragma once

#include "config/card_spec.hpp"
#include "config/hardware_spec.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace takt {

/// Copies over a bridge and over a switch reach different shares of the same link.
enum class NvlinkUse { bridge, board };

/// Looks link types up in links.toml. A type that the file lacks is made by scaling one of its kind, and says so in its
/// source.
class LinkCatalog {
 public:
  explicit LinkCatalog(const std::map<std::string, LinkType>& types) : types_(types) {}

  LinkType pcie(std::int64_t generation, std::int64_t lanes) const;

  /// `count` direct NVLinks between two cards; the nominal rate is the card's where that is known.
  LinkType nvlink(std::int64_t generation, std::int64_t count, const CardSpec* card) const;

  /// The type of one NVLink, as bridges and switches name it. Cards of one generation differ (GA102 has slower links
  /// than GA100): nothing if links.toml has none with this generation and the card's rate.
  std::optional<LinkType> one_nvlink(std::int64_t generation, NvlinkUse use, const CardSpec* card) const;

  /// The link between two sockets with the given type id; the first socket link of the file if it has none of that
  /// name.
  LinkType socket(std::string_view id) const;

 private:
  const LinkType* find(LinkKind kind, std::int64_t generation, std::int64_t lanes) const;

  const std::map<std::string, LinkType>& types_;
};

/// Generations that exist: PCIe 1 to 6.
inline constexpr std::int64_t newest_pcie_generation = 6;

/// The PCIe generation of a link speed in GT/s (2.5, 5, 8, 16, 32, 64); nothing for other numbers.
std::optional<std::int64_t> pcie_generation_of(double gigatransfers);

/// The NVLink generation of a compute capability (70 -> 2, 80 -> 3, 90 -> 4, 100 -> 5); 0 if it has none.
std::int64_t nvlink_generation_of(std::int64_t compute_capability);

}  // namespace takt
