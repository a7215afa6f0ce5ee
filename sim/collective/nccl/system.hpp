// A server as NCCL sees it: CPUs, the PCIe tree below them, cards, NICs, NVLinks. Comes from a topology XML
// (topology_xml.hpp) or from a Takt topology; only cards that take part in the communicator are in it.
#pragma once

#include "collective/nccl/speed.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace takt {

enum class CpuArchitecture : std::uint8_t { x86, arm, power };
enum class CpuVendor : std::uint8_t { intel, amd, zhaoxin, other };

/// A NUMA domain.
struct NcclCpu {
  std::int64_t numa = 0;
  CpuArchitecture architecture = CpuArchitecture::x86;
  CpuVendor vendor = CpuVendor::other;
  std::int64_t family = 0;
  std::int64_t model = 0;  ///< tells Intel's and Zhaoxin's generations apart (N3)

  auto operator<=>(const NcclCpu&) const = default;
};

/// Where a device hangs in the PCIe tree, and how fast its slot is.
struct PciSlot {
  enum class Above : std::uint8_t { cpu, pci_switch };
  Above above = Above::cpu;
  std::size_t position = 0;  ///< of the CPU or switch in its list
  NcclSpeed speed{};         ///< one direction; pci_speed()

  auto operator<=>(const PciSlot&) const = default;
};

/// The lane rates of PCIe generations 1 to 6, GT/s rounded as the generations are named.
enum class PciGeneration : std::uint8_t { gen1, gen2, gen3, gen4, gen5, gen6 };

/// N1: what NCCL reckons with: 3 GB/s for 16 lanes of generation 1, doubling with each generation.
constexpr NcclSpeed pci_speed(PciGeneration generation, std::int64_t lanes) {
  constexpr std::int64_t gen1_x16 = 3000;  // MB/s; N1: width x 15 / 80 GB/s
  const std::int64_t x16 = gen1_x16 << static_cast<int>(generation);
  return NcclSpeed((x16 * lanes + 8) / 16);
}

struct NcclPciSwitch {
  PciSlot slot;
  std::uint64_t device = 0;  ///< vendor, device and subsystem ids, 16 bits each; some switches are told apart by it

  auto operator<=>(const NcclPciSwitch&) const = default;
};

struct NvSwitchEnd {  ///< all NVSwitches of a server are one vertex to NCCL
  auto operator<=>(const NvSwitchEnd&) const = default;
};
struct GpuEnd {
  std::size_t position = 0;
  auto operator<=>(const GpuEnd&) const = default;
};

struct NcclNvlink {
  std::variant<NvSwitchEnd, GpuEnd> end;
  std::int64_t count = 0;  ///< links joined into one

  auto operator<=>(const NcclNvlink&) const = default;
};

enum class DirectRdma : std::uint8_t { unsupported, supported };
enum class PeerAccess : std::uint8_t { refused, supported };  ///< over PCIe, as the driver says; GeForce: refused

struct NcclGpu {
  PciSlot slot;
  std::int64_t rank = 0;
  std::int64_t device = 0;              ///< NVML's number; spreads cards over NICs
  std::int64_t compute_capability = 0;  ///< 89 for sm89
  DirectRdma direct_rdma = DirectRdma::supported;
  PeerAccess peer_access = PeerAccess::supported;
  std::vector<NcclNvlink> nvlinks;
  NcclSpeed c2c{};  ///< chip-to-chip link with its CPU; 0: none

  auto operator<=>(const NcclGpu&) const = default;
};

/// One network port.
struct NcclNet {
  std::string name;
  std::int64_t device = 0;
  NcclSpeed speed{};       ///< N4: Mb/s over 8000
  double latency = 0.0;    ///< us
  std::uint64_t asic = 0;  ///< ports of one adapter share it
  std::int64_t port = 0;
  DirectRdma direct_rdma = DirectRdma::unsupported;

  auto operator<=>(const NcclNet&) const = default;
};

/// A network adapter; ports of one adapter share its slot.
struct NcclNic {
  PciSlot slot;
  std::vector<NcclNet> nets;

  auto operator<=>(const NcclNic&) const = default;
};

struct NcclSystem {
  std::vector<NcclCpu> cpus;
  std::vector<NcclPciSwitch> switches;
  std::vector<NcclGpu> gpus;
  std::vector<NcclNic> nics;

  auto operator<=>(const NcclSystem&) const = default;
};

/// The same server with only the cards at `positions` (ascending) taking part.
NcclSystem restrict_to(const NcclSystem& system, const std::vector<std::size_t>& positions);

}  // namespace takt
