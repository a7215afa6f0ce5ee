#include "collective/nccl/nic_affinity.hpp"

#include <algorithm>
#include <bit>

#include "collective/nccl/version_rules.hpp"

namespace takt::nccl {
namespace {

/// Positions whose path has the most bandwidth, of these those with the nearest type.
template <class PathOf>
std::vector<std::size_t> nearest(std::size_t count, const PathOf& path_of) {
  std::vector<std::size_t> best;
  NcclSpeed speed{};
  NcclPathType type = NcclPathType::none;
  for (std::size_t i = 0; i < count; ++i) {
    const Path& path = path_of(i);
    if (path.speed > speed || (path.speed == speed && path.type < type)) {
      speed = path.speed;
      type = path.type;
      best.clear();
    }
    if (path.speed == speed && path.type == type) best.push_back(i);
  }
  return best;
}

/// The low bits of `value` in reverse order; `count` is a power of two.
std::size_t mirrored(std::size_t value, std::size_t count) {
  std::size_t result = 0;
  for (std::size_t bit = 1, image = count >> 1; bit < count; bit <<= 1, image >>= 1) {
    if ((value & bit) != 0) result |= image;
  }
  return result;
}

void append_new(std::vector<std::size_t>& list, std::size_t item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

}  // namespace

std::vector<std::size_t> nearest_nets(const RoutedMachine& machine, std::size_t gpu) {
  return nearest(machine.graph.nets.size(),
                 [&](std::size_t net) -> const Path& { return machine.path_to_net(gpu, net); });
}

std::vector<std::size_t> nearest_gpus(const RoutedMachine& machine, std::size_t net) {
  return nearest(machine.graph.gpus.size(),
                 [&](std::size_t gpu) -> const Path& { return machine.path_from_net(net, gpu); });
}

std::vector<std::size_t> nets_of_gpu(const RoutedMachine& machine, std::size_t gpu) {
  const std::vector<std::size_t> near = nearest_nets(machine, gpu);
  if (near.empty()) return {};
  const std::size_t sharers = nearest_gpus(machine, near.front()).size();
  const std::size_t per_gpu = (near.size() + sharers - 1) / sharers;
  auto start = static_cast<std::size_t>(machine.graph.gpu[gpu].device);
  if (rules_of(machine.settings.version).nearest_nics_by_gpu_count == Switch::on) start %= sharers;
  if (std::has_single_bit(near.size())) start = mirrored(start, near.size());
  std::vector<std::size_t> nets;
  for (std::size_t i = 0; i < per_gpu; ++i) nets.push_back(near[(start + i) % near.size()]);
  return nets;
}

std::size_t gpu_near(const RoutedMachine& machine, std::size_t net) {
  const std::vector<std::size_t> candidates = nearest_gpus(machine, net);
  std::vector<std::vector<std::size_t>> nets;
  for (const std::size_t gpu : candidates) nets.push_back(nets_of_gpu(machine, gpu));
  for (std::size_t channel = 0; channel < machine.graph.nets.size(); ++channel) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!nets[i].empty() && nets[i][channel % nets[i].size()] == net) return candidates[i];
    }
  }
  return RoutedMachine::no_gpu;
}

std::vector<std::size_t> preferred_nets(const RoutedMachine& machine, std::size_t gpu) {
  std::vector<std::size_t> nets;
  for (std::size_t g = 0; g < machine.graph.gpus.size(); ++g) {
    if (gpu != RoutedMachine::no_gpu && gpu != g) continue;
    for (const std::size_t net : nets_of_gpu(machine, g)) append_new(nets, net);
  }
  return nets;
}

std::vector<std::size_t> nets_to_try(const RoutedMachine& machine, std::size_t gpu, NcclPathType farthest) {
  std::vector<std::size_t> nets = preferred_nets(machine, gpu);
  for (int type = 0; type <= static_cast<int>(farthest); ++type) {
    for (std::size_t g = 0; g < machine.graph.gpus.size(); ++g) {
      if (gpu != RoutedMachine::no_gpu && gpu != g) continue;
      for (std::size_t net = 0; net < machine.graph.nets.size(); ++net) {
        if (static_cast<int>(machine.path_to_net(g, net).type) == type) append_new(nets, net);
      }
    }
  }
  return nets;
}

}  // namespace takt::nccl
