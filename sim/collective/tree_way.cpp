#include "collective/tree_way.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <limits>

namespace takt {
namespace {

constexpr std::size_t no_hop = static_cast<std::size_t>(-1);

/// What the links of a hop allow when nothing else uses them.
double capacity_of(const Hop& hop, const Topology& topology) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const LinkId id : hop.links) {
    const Link& link = topology.link(id);
    lowest = std::min(lowest, link.capacity.count());
    if (link.both_directions) lowest = std::min(lowest, topology.resources()[index(*link.both_directions)].capacity);
  }
  return lowest / hop.per_unit;
}

/// Hops between a card and the root, and how long a byte takes over them.
struct Depth {
  std::size_t hops = 0;
  double seconds_a_byte = 0.0;

  auto operator<=>(const Depth&) const = default;
};

/// One pass of a tree. `edge_of[card]` is the hop that joins the card with the one above it, in either pass.
class Pass {
 public:
  Pass(const Lane& lane, const std::vector<std::size_t>& edge_of, const std::vector<std::size_t>& above,
       const Topology& topology)
      : edge_of_(edge_of), above_(above), depth_(edge_of.size()), known_(edge_of.size(), false) {
    for (const Hop& hop : lane.hops) capacities_.push_back(capacity_of(hop, topology));
  }

  Depth depth(std::size_t card) {
    if (known_[card] || edge_of_[card] == no_hop) return depth_[card];
    std::vector<std::size_t> way;
    for (; edge_of_[card] != no_hop && !known_[card]; card = above_[card]) way.push_back(card);
    for (std::size_t i = way.size(); i-- > 0;) {
      const Depth& over = depth_[above_[way[i]]];
      depth_[way[i]] = {over.hops + 1, over.seconds_a_byte + 1.0 / capacities_[edge_of_[way[i]]]};
      known_[way[i]] = true;
    }
    return depth_[way.front()];
  }

  std::vector<double> way_from(std::size_t card) const {
    std::vector<double> way;
    for (; edge_of_[card] != no_hop; card = above_[card]) way.push_back(capacities_[edge_of_[card]]);
    return way;
  }

  std::size_t deepest() {
    std::size_t found = 0;
    for (std::size_t card = 1; card < edge_of_.size(); ++card) {
      if (depth(card) > depth(found)) found = card;
    }
    return found;
  }

 private:
  const std::vector<std::size_t>& edge_of_;
  const std::vector<std::size_t>& above_;
  std::vector<double> capacities_;
  std::vector<Depth> depth_;
  std::vector<bool> known_;
};

TreeWay way_of(const Lane& up, const Lane& down, const Topology& topology) {
  std::vector<std::size_t> edge_of(up.hops.size() + 1, no_hop), above(up.hops.size() + 1, 0);
  for (std::size_t hop = 0; hop < up.hops.size(); ++hop) {
    edge_of[up.hops[hop].from] = hop;
    above[up.hops[hop].from] = up.hops[hop].to;
  }
  Pass rising(up, edge_of, above, topology), falling(down, edge_of, above, topology);
  TreeWay way{up.share, rising.way_from(rising.deepest())};
  const std::vector<double> back = falling.way_from(falling.deepest());
  way.capacities.insert(way.capacities.end(), back.begin(), back.end());
  return way;
}

double seconds_a_byte(const TreeWay& way) {
  double sum = 0.0;
  for (const double capacity : way.capacities) sum += 1.0 / capacity;
  return sum;
}

}  // namespace

TreeWay longest_way(std::span<const Lane> lanes, const Topology& topology) {
  TreeWay longest;
  for (std::size_t i = 0; i + 1 < lanes.size(); ++i) {
    if (lanes[i].kind != LaneKind::tree_up) continue;
    TreeWay way = way_of(lanes[i], lanes[i + 1], topology);
    const auto length = [](const TreeWay& w) { return Depth{w.capacities.size(), seconds_a_byte(w)}; };
    if (length(way) > length(longest)) longest = std::move(way);
  }
  return longest;
}

}  // namespace takt
