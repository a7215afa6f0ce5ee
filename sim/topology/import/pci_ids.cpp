#include "topology/import/pci_ids.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace takt {
namespace {

constexpr std::uint32_t nvidia = 0x10de;

struct CardNumber {
  std::uint32_t device;
  std::string_view card;
};

/// Source: the PCI ID repository (pci-ids.ucw.cz), vendor 10de.
constexpr std::array card_numbers = {
    CardNumber{0x1db1, "v100-sxm2-16"},
    CardNumber{0x1db5, "v100-sxm2-32"},
    CardNumber{0x1db4, "v100-pcie-16"},
    CardNumber{0x1db6, "v100-pcie-32"},
    CardNumber{0x1e04, "rtx-2080-ti"},
    CardNumber{0x1e07, "rtx-2080-ti"},
    CardNumber{0x20b0, "a100-sxm-40"},
    CardNumber{0x20b2, "a100-sxm-80"},
    CardNumber{0x20b1, "a100-pcie-40"},
    CardNumber{0x20f1, "a100-pcie-40"},
    CardNumber{0x20b5, "a100-pcie-80"},
    CardNumber{0x20f3, "a800-sxm-80"},
    CardNumber{0x2204, "rtx-3090"},
    CardNumber{0x2230, "rtx-a6000"},
    CardNumber{0x2237, "a10g"},
    CardNumber{0x2321, "h100-nvl"},
    CardNumber{0x2324, "h800-sxm"},
    CardNumber{0x2330, "h100-sxm"},
    CardNumber{0x2331, "h100-pcie"},
    CardNumber{0x2335, "h200-sxm"},
    CardNumber{0x233b, "h200-nvl"},
    CardNumber{0x2684, "rtx-4090"},
    CardNumber{0x26b1, "rtx-6000-ada"},
    CardNumber{0x26b9, "l40s"},
    CardNumber{0x2901, "b200-sxm"},
    CardNumber{0x2b85, "rtx-5090"},
    CardNumber{0x2bb1, "rtx-pro-6000-workstation"},
    CardNumber{0x2bb4, "rtx-pro-6000-max-q"},
    CardNumber{0x2bb5, "rtx-pro-6000-server"},
};

}  // namespace

PciKind pci_kind(std::uint32_t class_code, std::uint32_t vendor) {
  constexpr unsigned interface_bits = 8;
  switch (class_code >> interface_bits) {
    case 0x0604:
      return PciKind::bridge;
    case 0x0300:
    case 0x0302:
      return vendor == nvidia || vendor == 0 ? PciKind::card : PciKind::other;
    case 0x0200:
    case 0x0207:
      return PciKind::nic;
    case 0x0680:
      return vendor == nvidia ? PciKind::nvswitch : PciKind::other;
    default:
      return PciKind::other;
  }
}

std::string card_of_pci_device(std::uint32_t vendor, std::uint32_t device) {
  if (vendor != nvidia) return "";
  const auto* const found = std::find_if(card_numbers.begin(), card_numbers.end(),
                                         [&](const CardNumber& number) { return number.device == device; });
  return found == card_numbers.end() ? "" : std::string(found->card);
}

std::optional<std::uint32_t> hexadecimal(std::string_view text) {
  if (text.substr(0, 2) == "0x") text.remove_prefix(2);
  std::uint32_t value = 0;
  constexpr int base = 16;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace takt
