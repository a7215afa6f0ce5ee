// What several transfers between cards reach when they run at once: copy engines or posted writes, no collectives.
#pragma once

#include "topology/topology.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace takt {

/// A transfer from one card to another, by card numbers. Either end may be the card's host memory (-1).
struct Transfer {
  static constexpr std::int64_t host = -1;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// "0>1 1>0", "host>2": as files and the command line write them; nothing if a word is no transfer.
std::optional<std::vector<Transfer>> transfers_in(std::string_view text);
std::string text_of(std::span<const Transfer> transfers);

/// The max-min fair rate of each transfer over its route (DESIGN section 2): every link direction and every cap of both
/// directions is shared by those that cross it; copies that the driver stages have limits of their own, and uniform
/// all-to-all traffic through one switch blocks itself (copy_limits.hpp). Ends must be cards of the topology, not both
/// the host; a transfer without a route has rate 0.
std::vector<Bandwidth> copy_rates(const Topology& topology, std::span<const Transfer> transfers);

/// What a benchmark prints for all of them together: each moves the same number of bytes, and the time is that of the
/// last. As transfers end, those that go on share what they leave. 0 if one of them has no route.
Bandwidth throughput_of_equal_copies(const Topology& topology, std::span<const Transfer> transfers);

}  // namespace takt
