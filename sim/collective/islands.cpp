#include "collective/islands.hpp"

#include "base/contract.hpp"

#include <algorithm>
#include <map>

namespace takt {
namespace {

using Islands = std::vector<std::vector<VertexId>>;

/// Groups by a number, in the order of the first member of each.
template <class NumberOf>
Islands grouped(std::span<const VertexId> members, NumberOf number_of) {
  Islands groups;
  std::map<std::int64_t, std::size_t> place;
  for (const VertexId member : members) {
    const auto [entry, is_new] = place.try_emplace(number_of(member), groups.size());
    if (is_new) groups.emplace_back();
    groups[entry->second].push_back(member);
  }
  return groups;
}

bool usable(const Islands& islands) {
  return islands.size() > 1 && islands.front().size() > 1 &&
         std::all_of(islands.begin(), islands.end(),
                     [&](const auto& island) { return island.size() == islands.front().size(); });
}

std::vector<IslandPart> inside(const CollectiveCall& call, const Islands& islands) {
  std::vector<IslandPart> parts;
  for (const auto& island : islands) parts.push_back({call, island});
  return parts;
}

/// Cards of equal place in their islands, each group with its part of the message.
std::vector<IslandPart> between(CollectiveCall call, const Islands& islands) {
  const auto places = static_cast<std::int64_t>(islands.front().size());
  call.bytes = Bytes((call.bytes.count() + places - 1) / places);
  std::vector<IslandPart> parts;
  for (std::size_t place = 0; place < islands.front().size(); ++place) {
    std::vector<VertexId> members;
    for (const auto& island : islands) members.push_back(island[place]);
    parts.push_back({call, std::move(members)});
  }
  return parts;
}

}  // namespace

Islands islands_of(std::span<const VertexId> members, const Topology& topology) {
  std::map<VertexId, std::int64_t> domain;
  for (std::size_t d = 0; d < topology.nvlink_domains().size(); ++d) {
    for (const VertexId card : topology.nvlink_domains()[d].cards) domain[card] = static_cast<std::int64_t>(d);
  }
  const bool by_domain =
      std::any_of(members.begin(), members.end(), [&](VertexId member) { return domain.contains(member); });
  const std::int64_t without = -1;
  Islands islands = grouped(members, [&](VertexId member) -> std::int64_t {
    if (!by_domain) return topology.device(member).server;
    const auto found = domain.find(member);
    // A card without NVLink is an island of its own, which no other equals.
    return found == domain.end() ? without - topology.device(member).card : found->second;
  });
  return usable(islands) ? islands : Islands{};
}

std::vector<std::vector<IslandPart>> island_steps(const CollectiveCall& call, const Islands& islands) {
  const auto as = [&](CollectiveKind kind) { return CollectiveCall{kind, call.bytes, call.reduction}; };
  switch (call.kind) {
    case CollectiveKind::all_gather:
      return {between(call, islands), inside(call, islands)};
    case CollectiveKind::reduce_scatter:
      return {inside(call, islands), between(call, islands)};
    case CollectiveKind::all_reduce:
      return {inside(as(CollectiveKind::reduce_scatter), islands), between(call, islands),
              inside(as(CollectiveKind::all_gather), islands)};
    case CollectiveKind::broadcast:
      break;
  }
  unreachable("a collective that has a hierarchical form");
}

}  // namespace takt
