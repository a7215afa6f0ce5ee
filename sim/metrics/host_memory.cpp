#include "metrics/host_memory.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace takt {
namespace {

constexpr double fp32_bytes = 4.0;

/// Of one rank.
struct OffloadedSizes {
  double memory = 0.0, nvme = 0.0;
};

OffloadedSizes offloaded(const Scenario& scenario, const Workload& workload, std::int64_t shard_ranks) {
  const ParallelSettings& parallel = scenario.parallel;
  double frozen = 0.0, trained = 0.0, trained_weights = 0.0;
  for (const std::uint32_t k : workload.blocks) {
    for (const Parameter& parameter : workload.kinds[k].parameters) {
      const auto elements = static_cast<double>(parameter.elements());
      (parameter.trainable ? trained_weights : frozen) += elements * parameter.bytes;
      if (parameter.trainable) trained += elements;
    }
  }
  const double states = trained * (fp32_bytes + workload.optimizer_bytes);  // master and moments
  const double gradients = trained * fp32_bytes;
  OffloadedSizes sizes;
  const bool is_fsdp = parallel.strategy == Strategy::fsdp1 || parallel.strategy == Strategy::fsdp2;
  if (is_fsdp && parallel.offload_params == Offload::cpu) sizes.memory = frozen + states + gradients;
  if (!is_fsdp && parallel.offload_params != Offload::none) {
    (parallel.offload_params == Offload::cpu ? sizes.memory : sizes.nvme) += frozen + trained_weights;
  }
  if (parallel.offload_optimizer != Offload::none) {
    (parallel.offload_optimizer == Offload::cpu ? sizes.memory : sizes.nvme) += states;
    sizes.memory += gradients;
  }
  sizes.memory /= static_cast<double>(shard_ranks);
  sizes.nvme /= static_cast<double>(shard_ranks);
  return sizes;
}

}  // namespace

HostMemory host_memory(const Scenario& scenario, const Workload& workload, std::int64_t shard_ranks,
                       const Topology& topology, const std::vector<CardInstance>& cards) {
  const OffloadedSizes of_rank = offloaded(scenario, workload, shard_ranks);
  std::map<std::int32_t, std::int64_t> ranks_of_server;
  for (const CardInstance& card : cards) ++ranks_of_server[card.server];
  std::int64_t most = 0;
  for (const auto& [server, ranks] : ranks_of_server) most = std::max(most, ranks);
  HostMemory memory;
  memory.needed = Bytes(std::llround(of_rank.memory * static_cast<double>(most)));
  memory.nvme = Bytes(std::llround(of_rank.nvme * static_cast<double>(most)));
  for (const DeviceSpec& device : topology.server_spec().devices) {
    if (device.kind == DeviceKind::socket) memory.available += device.host_memory;
  }
  return memory;
}

}  // namespace takt
