// The environment settings of NCCL that change what it chooses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "collective/nccl/path_type.hpp"

namespace takt {

enum class NcclAlgorithm : std::uint8_t { tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat };
enum class NcclProtocol : std::uint8_t { ll, ll128, simple };
inline constexpr std::size_t nccl_algorithms = 7;
inline constexpr std::size_t nccl_protocols = 3;

/// "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT".
std::string_view to_text(NcclAlgorithm algorithm);
/// "LL", "LL128", "Simple".
std::string_view to_text(NcclProtocol protocol);

/// The releases whose rules differ in ways that semantics lists. 2.22 to 2.25 count as 2.21, and 2.28 and 2.29, which
/// have most of the later constants, as 2.30.
enum class NcclVersion : std::uint8_t { v2_21, v2_26, v2_27, v2_30 };

/// Which rules hold for a release ("2.27.5", "2.27"); empty if the text is no version or one before 2.21.
std::optional<NcclVersion> nccl_version_from_text(std::string_view text);

enum class Switch : std::uint8_t { off, on };

struct NcclSettings {
  NcclVersion version = NcclVersion::v2_30;
  std::optional<NcclPathType> p2p_level;                 ///< NCCL_P2P_LEVEL; unset: N11
  Switch p2p_disable = Switch::off;                  ///< NCCL_P2P_DISABLE
  Switch shm_disable = Switch::off;                  ///< NCCL_SHM_DISABLE
  Switch net_disable_intra = Switch::off;            ///< NCCL_NET_DISABLE_INTRA: N12b
  std::optional<NcclPathType> net_gdr_level;             ///< NCCL_NET_GDR_LEVEL; unset: N14
  Switch pxn_disable = Switch::off;                  ///< NCCL_PXN_DISABLE
  std::int64_t cross_nic = 2;                        ///< NCCL_CROSS_NIC: 0, 1 or 2 (try both)
  Switch nvls = Switch::on;                          ///< NCCL_NVLS_ENABLE
  std::vector<NcclAlgorithm> algorithms;             ///< NCCL_ALGO; empty: all
  std::vector<NcclProtocol> protocols;               ///< NCCL_PROTO; empty: all that are safe (N47)
  std::optional<std::int64_t> min_channels;          ///< NCCL_MIN_NCHANNELS
  std::optional<std::int64_t> max_channels;          ///< NCCL_MAX_NCHANNELS
  std::optional<std::int64_t> min_ctas;              ///< NCCL_MIN_CTAS
  std::optional<std::int64_t> max_ctas;              ///< NCCL_MAX_CTAS
  std::optional<std::int64_t> threads;               ///< NCCL_NTHREADS
};

}  // namespace takt
