// A card (GPU) as its data file states it: topologies/cards/*.toml.
#pragma once

#include "base/units.hpp"
#include "config/gemm_calibration.hpp"
#include "config/scenario.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace takt {

/// How well a card's kernels reach the roofline: one factor a kind of kernel, with its source. Calibrated GEMM models
/// replace these where a card has measurements.
struct KernelEfficiency {
  double gemm = 0.8;       ///< of the dense peak
  double attention = 0.5;  ///< of the dense peak, forward; counting causal FLOP only
  double attention_backward = 0.4;
  double memory = 0.85;      ///< of the memory bandwidth, for elementwise kernels and copies
  double dequantise = 0.27;  ///< of the memory bandwidth, for NF4 to BF16
  bool attention_measured = false;  ///< on this chip; false: taken over from another
  bool memory_measured = false;     ///< on this card
  std::string source;
};

/// A MIG instance that a card can be cut into.
struct MigProfile {
  std::string name;                            ///< as NVIDIA writes it, e.g. "1g.18gb"
  std::int64_t instances = 1;                  ///< most of them on one card
  std::int64_t compute_slices = 1;             ///< of the card's mig_slices
  double memory_share = 1.0;                   ///< of the card's memory, its bandwidth and its L2 cache
  Bytes memory{};                              ///< as the name says
  std::optional<Bytes> usable;                 ///< where NVIDIA states it; else the share of what the driver shows
  SourcePlace place;
};

/// What a card still does under a power limit, measured: parts of what it does at its TDP.
struct PowerPoint {
  Power limit{};
  double compute = 1.0;                        ///< kernels bound by compute
  std::optional<double> memory;                ///< kernels bound by memory; where it was measured
  SourcePlace place;
};

struct CardSpec {
  std::string id;                       ///< the file's stem, e.g. "h200-nvl"
  std::string name;                     ///< e.g. "NVIDIA H200 NVL"
  std::string architecture;             ///< "Hopper", "Blackwell", ...
  std::int64_t compute_capability = 0;  ///< 90 for 9.0, 120 for 12.0
  std::int64_t sm_count = 0;
  Frequency boost_clock{};
  std::map<Precision, FlopRate> dense_peak;  ///< FP32 accumulation; absent = the card does not have it
  Bytes memory_nominal{};                    ///< what the data sheet says (141 GB)
  Bytes memory_visible{};                    ///< what the driver shows (150.75 GB)
  Bandwidth memory_bandwidth{};
  Bytes l2_cache{};
  Power tdp{};                           ///< the limit as delivered, or what the card is held to
  std::optional<Power> delivered_limit;  ///< of a card that is held to a lower one
  std::optional<Power> idle_power;       ///< lowest reading with nothing to do and clocks up, where one is published
  /// Rate of matrix products that last, over that of short ones; where both were measured. 1: the card's products were
  /// measured at the clock that it keeps.
  std::optional<double> sustained;
  std::int64_t nvlink_links = 0;
  Bandwidth nvlink_per_direction{};   ///< all links together
  std::int64_t nvlink_max_cards = 0;  ///< cards one bridge or switch domain may join
  std::int64_t pcie_generation = 5;
  std::int64_t pcie_lanes = 16;
  bool pcie_peer_to_peer = true;
  std::int64_t copy_engines = 2;
  std::int64_t mig_slices = 0;
  std::vector<MigProfile> mig_profiles;
  std::vector<PowerPoint> power_points;        ///< ascending, below the TDP
  KernelEfficiency efficiency;
  std::map<Precision, GemmCalibration> gemm;  ///< empty: the roofline with efficiency.gemm
  std::string source;                         ///< of the figures above
  std::string confidence;
  std::string file;
  SourcePlaces places;
};

}  // namespace takt
