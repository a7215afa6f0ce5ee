// Which NIC ports are near a card and which card is near a port (N14).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collective/nccl/paths.hpp"

namespace takt::nccl {

/// Ports with the most bandwidth from the card, of these the nearest by type.
std::vector<std::size_t> nearest_nets(const RoutedMachine& machine, std::size_t gpu);
/// Cards with the most bandwidth from the port, of these the nearest by type.
std::vector<std::size_t> nearest_gpus(const RoutedMachine& machine, std::size_t net);

/// The ports a card uses, in the order of its channels: cards that share near ports start at different ones.
std::vector<std::size_t> nets_of_gpu(const RoutedMachine& machine, std::size_t gpu);

/// The card whose channels use the port first; RoutedMachine::no_gpu if none does.
std::size_t gpu_near(const RoutedMachine& machine, std::size_t net);

/// Ports in the order in which a search tries them, for one card or (no_gpu) for all: the cards' own ports, then others
/// up to `farthest` by distance.
std::vector<std::size_t> nets_to_try(const RoutedMachine& machine, std::size_t gpu, NcclPathType farthest);
/// The cards' own ports only.
std::vector<std::size_t> preferred_nets(const RoutedMachine& machine, std::size_t gpu);

}  // namespace takt::nccl
