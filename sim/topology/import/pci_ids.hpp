// Which card, adapter or bridge a PCI device is, by its numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace takt {

enum class PciKind { bridge, card, nic, nvswitch, other };

/// By the class code (PCI code and ID assignment): 0x0604xx bridge, 0x0300xx and 0x0302xx card, 0x0200xx and 0x0207xx
/// NIC, 0x0680xx NVSwitch of an NVIDIA vendor id. `vendor` 0: not stated, then it does not decide.
PciKind pci_kind(std::uint32_t class_code, std::uint32_t vendor);

/// The card id of an NVIDIA device number, e.g. 0x233b -> "h200-nvl"; empty if Takt does not know it.
std::string card_of_pci_device(std::uint32_t vendor, std::uint32_t device);

/// "0x10de", "10de" -> 0x10de; nothing if the text is no hexadecimal number of at most eight digits.
std::optional<std::uint32_t> hexadecimal(std::string_view text);

}  // namespace takt
