// Names for things that live in tables: an id is an index with a type, so that a rank cannot be used as a link.
#pragma once

#include <cstddef>
#include <cstdint>

namespace takt {

enum class RankId : std::uint32_t {};          ///< a process of the run, one a card; Plan::ranks
enum class VertexId : std::uint32_t {};        ///< a device of the topology (card, switch, socket, ...)
enum class LinkId : std::uint32_t {};          ///< one direction of a link of the topology
enum class ResourceId : std::uint32_t {};      ///< something activities share: a link direction, a card's memory
enum class RoleId : std::uint32_t {};          ///< a program of the plan; ranks with equal programs share a role
enum class StreamId : std::uint32_t {};        ///< a stream of a program
enum class OpId : std::uint32_t {};            ///< an op of a program, in CPU issue order
enum class CommSlot : std::uint32_t {};        ///< a communicator as a program names it ("shard", "replicate")
enum class CommunicatorId : std::uint32_t {};  ///< a communicator of the plan, with its member ranks
enum class CollectiveId : std::uint32_t {};    ///< a lowered collective of the plan

/// The position of `id` in its table.
template <class Id>
constexpr std::size_t index(Id id) {
  return static_cast<std::size_t>(id);
}

/// The id of position `position`.
template <class Id>
constexpr Id id_at(std::size_t position) {
  return static_cast<Id>(position);
}

}  // namespace takt
