// Limits of copies that no single link states.
#pragma once

#include "topology/topology.hpp"

#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace takt {

/// What the driver's copies through host memory reach of the narrowest PCIe link of their route: a card's copy engine
/// fills a pinned buffer piece by piece and the other's empties it, and the pieces wait for each other. The median over
/// six posted p2pBandwidthLatencyTest logs with peer-to-peer off against links.toml: 5.7 of 13.0 (2x RTX 2080 Ti,
/// Gen3), 38.6 of 56.3 (2x RTX 5090, Genoa), 19.55 of 26.3 (8x RTX 4090), 43.3 of 56.3 (8x RTX 5090, Turin), 22.3
/// of 26.3 (two GA102), 11.0 of 13.0 (4x V100).
inline constexpr double staged_copy_share = 0.755;

/// What the two directions of a pair reach together when both are staged, over one direction alone: they hardly
/// overlap. The median of 1.07 (RTX 2080 Ti), 1.07 (RTX 4090), 1.11 (RTX 5090 on Genoa) and 1.41 (GA102) of these logs.
inline constexpr double staged_both_directions = 1.09;

/// The share of its ports that an input-queued switch reaches when each output is asked for by `contenders` inputs at
/// random: heads of queues block what waits behind them. 1, 0.75, 0.6825, 0.6553 ... 0.5858 (M. Karol, M. Hluchyj,
/// S. Morgan, IEEE Transactions on Communications 35(12), 1987, table I).
double head_of_line_share(std::size_t contenders);

/// The links of switches and root complexes through which `routes` send uniform all-to-all traffic: at least three
/// ports, and from each port equally many routes to every other. With the share of them that such traffic reaches.
/// Non-uniform traffic is left out: a port that is asked for more than its fair part stays busy.
std::map<LinkId, double> blocked_links(const Topology& topology, std::span<const std::vector<LinkId>> routes);

}  // namespace takt
