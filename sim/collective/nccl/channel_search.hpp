// One depth-first search for channels with given speeds and path types (semantics N22).
#pragma once

#include <cstdint>

#include "collective/nccl/channel_graph.hpp"
#include "collective/nccl/paths.hpp"

namespace takt::nccl {

enum class Reach : std::uint8_t { one_node, several_nodes };  ///< whether channels go on to other servers

enum class SearchEnd : std::uint8_t { perfect, exhausted, out_of_steps };

struct SearchOutcome {
  SearchEnd end = SearchEnd::exhausted;
  std::int64_t steps_left = 0;
};

/// Looks for up to `trial.max_channels` channels as `trial` describes them, in at most `steps` steps, and replaces
/// `best` whenever it finds a graph that is better: more total speed, or the same with fewer hops.
SearchOutcome search_channels(const RoutedMachine& machine, Reach reach, const ChannelGraph& trial,
                              std::int64_t steps, ChannelGraph& best);

/// Steps a search may take: with one order for all channels, and in general.
inline constexpr std::int64_t steps_for_same_channels = 1 << 8;
inline constexpr std::int64_t steps_for_search = 1 << 14;

}  // namespace takt::nccl
