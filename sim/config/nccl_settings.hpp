// The environment settings of NCCL that change what it chooses, as a scenario's [nccl] states them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace takt {

/// How far apart two devices are, in NCCL's words; from near to far, compared by order (semantics N5).
enum class NcclPathType : std::uint8_t {
  loc,  ///< the same device
  nvl,  ///< NVLink
  nvb,  ///< NVLink by way of one other card
  c2c,  ///< chip-to-chip link of a card with its CPU
  pix,  ///< one PCIe switch
  pxb,  ///< several PCIe switches, no CPU
  p2c,  ///< a card on C2C and a NIC on the same CPU
  pxn,  ///< a NIC by way of a card that is joined by NVLink
  phb,  ///< a CPU's host bridge
  sys,  ///< the link between CPUs
  net,  ///< only the network joins them
  none  ///< no path
};

enum class NcclAlgorithm : std::uint8_t { tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat };
enum class NcclProtocol : std::uint8_t { ll, ll128, simple };
inline constexpr std::size_t nccl_algorithms = 7;
inline constexpr std::size_t nccl_protocols = 3;

/// The releases whose rules differ in ways that semantics lists. 2.22 to 2.25 count as 2.21, and 2.28 and 2.29, which
/// have most of the later constants, as 2.30.
enum class NcclVersion : std::uint8_t { v2_21, v2_26, v2_27, v2_30 };

/// How the network behaves under NCCL's proxy threads: by its kind, since nothing on a server tells.
enum class NcclFabric : std::uint8_t { rdma, cloud_roce, efa, tcpx };

enum class Switch : std::uint8_t { off, on };

struct NcclSettings {
  NcclVersion version = NcclVersion::v2_30;
  std::optional<NcclPathType> p2p_level;      ///< NCCL_P2P_LEVEL; unset: N11
  Switch p2p_disable = Switch::off;           ///< NCCL_P2P_DISABLE
  Switch shm_disable = Switch::off;           ///< NCCL_SHM_DISABLE
  Switch net_disable_intra = Switch::off;     ///< NCCL_NET_DISABLE_INTRA: N12b
  std::optional<NcclPathType> net_gdr_level;  ///< NCCL_NET_GDR_LEVEL; unset: N14
  Switch pxn_disable = Switch::off;           ///< NCCL_PXN_DISABLE
  std::int64_t cross_nic = 2;                 ///< NCCL_CROSS_NIC: 0, 1 or 2 (try both)
  Switch nvls = Switch::on;                   ///< NCCL_NVLS_ENABLE
  std::vector<NcclAlgorithm> algorithms;      ///< NCCL_ALGO; empty: all
  std::vector<NcclProtocol> protocols;        ///< NCCL_PROTO; empty: all that are safe (N47)
  std::optional<std::int64_t> min_channels;   ///< NCCL_MIN_NCHANNELS
  std::optional<std::int64_t> max_channels;   ///< NCCL_MAX_NCHANNELS
  std::optional<std::int64_t> min_ctas;       ///< NCCL_MIN_CTAS
  std::optional<std::int64_t> max_ctas;       ///< NCCL_MAX_CTAS
  std::optional<std::int64_t> threads;        ///< NCCL_NTHREADS

  auto operator<=>(const NcclSettings&) const = default;
};

/// [nccl] of a scenario: the settings, and what else decides how NCCL runs there.
struct NcclEnvironment {
  NcclSettings settings;
  NcclFabric fabric = NcclFabric::rdma;
  std::string graph_file;  ///< NCCL_GRAPH_FILE; empty: NCCL searches

  bool operator==(const NcclEnvironment&) const = default;
};

}  // namespace takt
