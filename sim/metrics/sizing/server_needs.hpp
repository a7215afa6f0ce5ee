// What a server around the cards needs by the rules of sizing guides: host memory, cores, power, feeds.
#pragma once

#include "base/units.hpp"
#include "config/card_spec.hpp"

#include <array>
#include <cstdint>

namespace takt {

/// `factor` times the cards' nominal memory. Factor 2: NVIDIA-Certified Systems guide; 3: Cisco for eight H200 NVL.
Bytes host_memory_rule(const CardSpec& card, std::int64_t cards, std::int64_t factor);

/// `needed`, rounded up to `modules` equal DDR5 modules of a size that is sold; more than the largest holds stays as
/// is.
Bytes populated_memory(Bytes needed, std::int64_t modules);

/// Memory modules of a server with two sockets of 12 channels, one module a channel (EPYC 9005).
inline constexpr std::int64_t two_socket_modules = 24;

/// Physical cores for the processes that feed the cards: 6 a card (NVIDIA-Certified Systems guide).
std::int64_t host_cores(std::int64_t cards);

/// A processor of the reference configurations.
struct ReferenceCpu {
  const char* name;
  Power power;  ///< its limit as delivered
};
/// The one of which a server with so many cards has two: EPYC 9135, 9355, 9555 for up to two, four and more cards.
ReferenceCpu reference_cpu(std::int64_t cards);

/// Cards and two processors at their limits, and 15 % for memory, drives, fans and losses.
Power server_power(Power card, std::int64_t cards, Power cpu);

/// Cards that one server holds; more make several servers.
inline constexpr std::int64_t cards_a_server = 8;

/// A power feed, loaded to 80 % of its breaker, as continuous loads are.
struct Feed {
  const char* name;
  double volts;  ///< between phases where there are three
  double amperes;
  int phases;
};
inline constexpr std::array<Feed, 3> feeds = {
    {{"230 V 16 A", 230.0, 16.0, 1}, {"230 V 32 A", 230.0, 32.0, 1}, {"400 V three-phase 16 A", 400.0, 16.0, 3}}};
Power usable_power(const Feed& feed);

/// Nominal rate of the card's PCIe slot per direction, as guides count: 64 GB/s for Gen5 x16.
Bandwidth nominal_pcie(const CardSpec& card);

}  // namespace takt
