#include "collective/nccl/tuner_constants.hpp"

namespace takt::nccl {
namespace {

constexpr ByProtocol none{0, 0, 0};

//                                     Tree              Ring             Direct         Chain
//                                     NVLS              NVLSTree         PAT
constexpr ByAlgorithm base_latency{{{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, none, none,  //
                                    none, none, {8.0, 8.0, 8.0}}};
constexpr ByAlgorithm nvlink_hop{{{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8},  //
                                  {0, 0, 25.0}, {0, 0, 25.0}, {0, 0, 4.0}}};
constexpr ByAlgorithm pci_hop{{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8},  //
                               none, none, {0, 0, 4.0}}};
constexpr ByAlgorithm net_hop{{{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}, {0, 0, 31.0}, {0, 0, 30.0},  //
                               {0, 0, 18.0}, {0, 0, 20.9}, {0, 0, 14.0}}};

constexpr TunerConstants newest{
    .base = base_latency,
    .hop = {nvlink_hop, pci_hop, net_hop},
    // By the card on one node; by the CPU (Intel: first row, AMD: second) between nodes.
    .most_ll = {{{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}}},
    .ring_ll128 = {{{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {40.0, 40.0, 40.0}}},
    .tree_ll128 = {{{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}}},
    .tree = {{{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}}},
    .nvls_tree = {{{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0.0, 57.7, 45.5}, {0.0, 96.0, 80.0}}},
    .nvls_efficiency = {0.0, 0.0, 0.85, 0.74}};

constexpr std::size_t tree_row = static_cast<std::size_t>(NcclAlgorithm::tree);
constexpr std::size_t simple_column = static_cast<std::size_t>(NcclProtocol::simple);

TunerConstants before_2_28() {
  constexpr auto blackwell = static_cast<std::size_t>(CardGeneration::blackwell);
  TunerConstants constants = newest;
  constants.hop[static_cast<std::size_t>(Hop::net)][static_cast<std::size_t>(NcclAlgorithm::nvls_tree)]
               [simple_column] = 14.0;
  // Blackwell was taken to be two Hoppers.
  constants.ring_ll128[blackwell] = {73.4, 73.4, 73.4};
  constants.tree_ll128[blackwell] = {73.4, 73.4, 58.0};
  constants.tree[blackwell] = {77.4, 82.8, 72.0};
  return constants;
}

TunerConstants before_2_22() {
  constexpr auto hopper = static_cast<std::size_t>(CardGeneration::hopper);
  constexpr auto blackwell = static_cast<std::size_t>(CardGeneration::blackwell);
  TunerConstants constants = before_2_28();
  constants.base[tree_row][simple_column] = 0.0;
  for (ByAlgorithm& hop : constants.hop) hop[tree_row][simple_column] = 28.0;
  for (ByGeneration* table : {&constants.most_ll, &constants.ring_ll128, &constants.tree_ll128, &constants.tree}) {
    (*table)[blackwell] = (*table)[hopper];  // it did not know Blackwell
  }
  return constants;
}

}  // namespace

TunerConstants tuner_constants(NcclVersion version) {
  switch (version) {
    case NcclVersion::v2_21: return before_2_22();
    case NcclVersion::v2_26:
    case NcclVersion::v2_27: return before_2_28();
    case NcclVersion::v2_30: break;
  }
  return newest;
}

const std::array<std::array<double, tree_correction_sizes>, nccl_protocols> tree_correction{{
    {1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5,
     0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6,
     0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0, 1.0},
    {0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5,
     0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9, 0.9},
}};

}  // namespace takt::nccl
