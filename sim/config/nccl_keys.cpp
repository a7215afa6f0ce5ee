#include "config/nccl_keys.hpp"

#include "config/list_kinds.hpp"
#include "config/words.hpp"

namespace takt {
namespace {

constexpr KeyMaker<Scenario> key;

const Choice<Switch> switches{{{"off", Switch::off}, {"on", Switch::on}}};
const Choice<NcclVersion> nccl_versions{{{"2.21.5", NcclVersion::v2_21},
                                         {"2.26.2", NcclVersion::v2_26},
                                         {"2.27.5", NcclVersion::v2_27},
                                         {"2.30.7", NcclVersion::v2_30}}};
const Choice<NcclPathType> nccl_levels{{{"LOC", NcclPathType::loc},
                                        {"NVL", NcclPathType::nvl},
                                        {"PIX", NcclPathType::pix},
                                        {"PXB", NcclPathType::pxb},
                                        {"PHB", NcclPathType::phb},
                                        {"SYS", NcclPathType::sys}}};
const Choice<NcclAlgorithm> nccl_algorithm_words{{{"Tree", NcclAlgorithm::tree},
                                                  {"Ring", NcclAlgorithm::ring},
                                                  {"NVLS", NcclAlgorithm::nvls},
                                                  {"NVLSTree", NcclAlgorithm::nvls_tree},
                                                  {"PAT", NcclAlgorithm::pat}}};
const Choice<NcclProtocol> nccl_protocol_words{
    {{"LL", NcclProtocol::ll}, {"LL128", NcclProtocol::ll128}, {"Simple", NcclProtocol::simple}}};
const Choice<NcclFabric> nccl_fabric_words{{{"rdma", NcclFabric::rdma},
                                            {"cloud-roce", NcclFabric::cloud_roce},
                                            {"efa", NcclFabric::efa},
                                            {"tcpx", NcclFabric::tcpx}}};

auto nccl(auto member) {
  return at(&Scenario::nccl, &NcclEnvironment::settings, member);
}

}  // namespace

std::vector<Key<Scenario>> nccl_rows() {
  const Optional<Choice<NcclPathType>> level{nccl_levels, "default"};
  const Optional<Integer> channels{{1, 64}, "default"};
  return {
      key.optional("nccl.version", nccl(&NcclSettings::version), nccl_versions,
                   "whose rules hold; 2.22 to 2.25 are as 2.21, 2.28 and 2.29 nearly as 2.30"),
      key.optional("nccl.p2p_level", nccl(&NcclSettings::p2p_level), level,
                   "NCCL_P2P_LEVEL: how far cards write to each other; default = PXB, as the server's file says"),
      key.optional("nccl.p2p_disable", nccl(&NcclSettings::p2p_disable), switches, "NCCL_P2P_DISABLE"),
      key.optional("nccl.shm_disable", nccl(&NcclSettings::shm_disable), switches,
                   "NCCL_SHM_DISABLE: the network instead of host memory"),
      key.optional("nccl.net_disable_intra", nccl(&NcclSettings::net_disable_intra), switches,
                   "NCCL_NET_DISABLE_INTRA: no way through NICs inside a server"),
      key.optional("nccl.net_gdr_level", nccl(&NcclSettings::net_gdr_level), level,
                   "NCCL_NET_GDR_LEVEL: how near a NIC must be to reach into a card's memory"),
      key.optional("nccl.pxn_disable", nccl(&NcclSettings::pxn_disable), switches,
                   "NCCL_PXN_DISABLE: no NIC by way of another card; matters with cross_nic = 0"),
      key.optional("nccl.cross_nic", nccl(&NcclSettings::cross_nic), Integer{0, 2},
                   "NCCL_CROSS_NIC: may a ring leave by another NIC than it came in; 2 = try both"),
      key.optional("nccl.nvls_enable", nccl(&NcclSettings::nvls), switches, "NCCL_NVLS_ENABLE"),
      key.optional("nccl.algo", nccl(&NcclSettings::algorithms), Choices<NcclAlgorithm>{nccl_algorithm_words, "all"},
                   "NCCL_ALGO"),
      key.optional("nccl.proto", nccl(&NcclSettings::protocols), Choices<NcclProtocol>{nccl_protocol_words, "all"},
                   "NCCL_PROTO"),
      key.optional("nccl.min_nchannels", nccl(&NcclSettings::min_channels), channels, "NCCL_MIN_NCHANNELS"),
      key.optional("nccl.max_nchannels", nccl(&NcclSettings::max_channels), channels, "NCCL_MAX_NCHANNELS"),
      key.optional("nccl.min_ctas", nccl(&NcclSettings::min_ctas), channels, "NCCL_MIN_CTAS"),
      key.optional("nccl.max_ctas", nccl(&NcclSettings::max_ctas), channels, "NCCL_MAX_CTAS"),
      key.optional("nccl.graph_file", at(&Scenario::nccl, &NcclEnvironment::graph_file), TextOrWord{"none"},
                   "NCCL_GRAPH_FILE: a path; its channels instead of a search"),
      key.optional("nccl.fabric", at(&Scenario::nccl, &NcclEnvironment::fabric), nccl_fabric_words,
                   "how the network between servers behaves: bare-metal RDMA, RoCE of a cloud, EFA, TCPX"),
  };
}

}  // namespace takt
