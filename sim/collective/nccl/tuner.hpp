// What NCCL believes a collective takes: a latency and a bandwidth for each algorithm and protocol (semantics N40-N47).
// NCCL's belief decides what runs. It is not how long it takes: see runtime_model.hpp.
#pragma once

#include "collective/call.hpp"
#include "collective/nccl/communicator.hpp"
#include "collective/nccl/settings.hpp"

#include <array>
#include <cstdint>

namespace takt::nccl {

/// A planned time is latency + bytes / bandwidth. No bandwidth: the pair is not available.
struct PlannedRate {
  double latency_us = 0.0;
  double gigabytes_per_second = 0.0;  ///< of the whole message (N40)

  bool available() const { return gigabytes_per_second > 0.0; }
};

inline constexpr std::size_t collective_kinds = 4;

struct TunerTable {
  std::array<std::array<std::array<PlannedRate, nccl_protocols>, nccl_algorithms>, collective_kinds> rates{};
  std::int64_t simple_ring_threads = 0;  ///< threads of a CTA of a ring in protocol Simple

  const PlannedRate& at(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol) const {
    return rates[static_cast<std::size_t>(kind)][static_cast<std::size_t>(algorithm)]
                [static_cast<std::size_t>(protocol)];
  }
};

TunerTable tune(const Communicator& communicator, const NcclSettings& settings);

/// N40, N46: the planned time of a message; negative if the pair is not available.
double planned_time_us(const TunerTable& table, const Communicator& communicator, const NcclSettings& settings,
                       const CollectiveCall& call, NcclAlgorithm algorithm, NcclProtocol protocol);

}  // namespace takt::nccl
