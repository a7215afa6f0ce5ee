#include "collective/activities.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace takt {
namespace {

ResourceId memory_of(std::size_t member, const CommunicatorCards& cards, const Topology& topology) {
  return topology.cards()[static_cast<std::size_t>(topology.device(cards.members[member]).card)].memory;
}

/// Adds the messages of one lane after another to one list.
class MessageWriter {
 public:
  MessageWriter(const LaneWork& work, const CommunicatorCards& cards, const Topology& topology,
                const CollectiveOptions& options)
      : work_(work),
        chunks_(static_cast<std::uint32_t>(work.chunks)),
        cards_(cards),
        topology_(topology),
        options_(options) {}

  MessageParts take() { return std::move(made_); }

  /// Member i's message of step s passes on what came from i - 1 in step s - 1, and a channel sends one message after
  /// another: all steps of a chunk, then the next chunk.
  void add_ring(const Lane& lane) {
    const auto members = static_cast<std::uint32_t>(lane.hops.size());
    const auto steps = static_cast<std::uint32_t>(work_.steps);
    const double message = work_.work * lane.share / static_cast<double>(steps);
    const std::uint32_t chunks = options_.settings.chunk == Chunk::step ? 1 : chunks_;
    const std::uint32_t base = made_.parts.size();
    const std::uint32_t first = one_a_hop(lane, message / chunks, work_.hop);
    for (std::uint32_t turn = 0; turn < chunks * steps; ++turn) {
      const std::uint32_t before = base + (turn - 1) * members;
      for (std::uint32_t i = 0; i < members; ++i) {
        const std::array<std::uint32_t, 2> after = {before + (i + members - 1) % members, before + i};
        const bool passes_on = turn % steps > 0, follows = turn > 0;
        made_.parts.add(first + i, std::span(after).subspan(passes_on ? 0 : 1, (passes_on ? 1U : 0U) + (follows ? 1U : 0U)));
      }
    }
  }

  /// A chunk leaves a card when it has come from all below (up) or from above (down), and after the chunk before it.
  /// The way down of a chunk begins where its way up ends.
  void add_tree(const Lane& up, const Lane& down) {
    const double bytes = work_.work * up.share / static_cast<double>(chunks_);
    const TreeWay rising = way_of(up, bytes), falling = way_of(down, bytes);
    const std::vector<std::size_t> upwards = in_order(up), downwards = in_order(down);
    std::vector<std::uint32_t> last_up(up.hops.size()), last_down(down.hops.size());
    for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) {
      std::vector<std::uint32_t> arrived_up(up.hops.size()), arrived_down(down.hops.size());
      for (const std::size_t hop : upwards) {
        const std::vector<std::uint32_t> before = arrivals_at(up.hops[hop].from, up, arrived_up);
        last_up[hop] = arrived_up[hop] = add_message(rising, hop, before, chunk > 0 ? &last_up[hop] : nullptr);
      }
      for (const std::size_t hop : downwards) {
        const std::size_t sender = down.hops[hop].from;
        std::vector<std::uint32_t> before = arrivals_at(sender, down, arrived_down);
        if (before.empty()) before = arrivals_at(sender, up, arrived_up);
        last_down[hop] = arrived_down[hop] = add_message(falling, hop, before, chunk > 0 ? &last_down[hop] : nullptr);
      }
    }
  }

  /// All cards at once, one chunk after another.
  void add_switches(const Lane& lane) {
    const std::uint32_t activity =
        add(activity_of(lane.hops, work_.work * lane.share / static_cast<double>(chunks_), lane.share, {}));
    for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) {
      const std::uint32_t previous = made_.parts.size() - 1;
      made_.parts.add(activity, std::span(&previous, chunk > 0 ? 1U : 0U));
    }
  }

 private:
  /// Activities of a tree's way: the first of its hops' messages as a chunk begins the way and as it follows another, and
  /// what an arrival waits for.
  struct TreeWay {
    std::uint32_t beginning = 0, following = 0, arrival = 0;
  };

  std::uint32_t add(Activity activity) {
    made_.activities.push_back(std::move(activity));
    return static_cast<std::uint32_t>(made_.activities.size() - 1);
  }

  Activity activity_of(std::span<const Hop> hops, double bytes, double share, Duration latency) const {
    Activity activity;
    activity.work = bytes;
    activity.payload = work_.payload;
    activity.cap = work_.cap * share;
    activity.weight = static_cast<double>(work_.ctas) * share;
    activity.latency = latency;
    activity.demands = demands_of(hops, cards_, topology_, options_);
    return activity;
  }

  /// One activity a hop; the first of them.
  std::uint32_t one_a_hop(const Lane& lane, double bytes, Duration latency) {
    const auto first = static_cast<std::uint32_t>(made_.activities.size());
    for (const Hop& hop : lane.hops) add(activity_of({&hop, 1}, bytes, lane.share, latency));
    return first;
  }

  TreeWay way_of(const Lane& lane, double bytes) {
    Activity arrival;
    arrival.latency = work_.hop;
    return {one_a_hop(lane, bytes, work_.hop), one_a_hop(lane, bytes, {}), add(arrival)};
  }

  /// Adds a hop's message that follows `previous` on its edge and passes on what has arrived with `before`; its number.
  std::uint32_t add_message(const TreeWay& way, std::size_t hop, const std::vector<std::uint32_t>& before,
                            const std::uint32_t* previous) {
    const auto offset = static_cast<std::uint32_t>(hop);
    if (previous == nullptr) return made_.parts.add(way.beginning + offset, before);
    std::vector<std::uint32_t> after;
    if (!before.empty()) after.push_back(made_.parts.add(way.arrival, before));  // the hop's time passes beside `previous`
    after.push_back(*previous);
    return made_.parts.add(way.following + offset, after);
  }

  /// Messages of a chunk that end at a card.
  static std::vector<std::uint32_t> arrivals_at(std::size_t card, const Lane& lane,
                                                const std::vector<std::uint32_t>& arrived) {
    std::vector<std::uint32_t> list;
    for (std::size_t hop = 0; hop < lane.hops.size(); ++hop) {
      if (lane.hops[hop].to == card) list.push_back(arrived[hop]);
    }
    return list;
  }

  /// Hops in an order in which none comes before those that its sender waits for.
  static std::vector<std::size_t> in_order(const Lane& lane) {
    std::vector<std::size_t> order;
    std::vector<bool> placed(lane.hops.size(), false);
    const auto waits = [&](std::size_t hop) {
      for (std::size_t other = 0; other < lane.hops.size(); ++other) {
        if (!placed[other] && lane.hops[other].to == lane.hops[hop].from) return true;
      }
      return false;
    };
    while (order.size() < lane.hops.size()) {
      for (std::size_t hop = 0; hop < lane.hops.size(); ++hop) {
        if (placed[hop] || waits(hop)) continue;
        placed[hop] = true;
        order.push_back(hop);
      }
    }
    return order;
  }

  const LaneWork& work_;
  std::uint32_t chunks_;
  const CommunicatorCards& cards_;
  const Topology& topology_;
  const CollectiveOptions& options_;
  MessageParts made_;
};

}  // namespace

std::vector<Demand> demands_of(std::span<const Hop> hops, const CommunicatorCards& cards, const Topology& topology,
                               const CollectiveOptions& options) {
  std::map<ResourceId, double> demands;
  for (const Hop& hop : hops) {
    for (const LinkId id : hop.links) {
      const Link& link = topology.link(id);
      demands[link.resource] += hop.per_unit;
      if (link.both_directions) demands[*link.both_directions] += hop.per_unit;
    }
    if (!options.memory_contention) continue;
    // Half of the factor at each end: the sender reads what the receiver writes.
    for (const std::size_t end : {hop.from, hop.to}) {
      if (end == no_member) continue;
      demands[memory_of(end, cards, topology)] += hop.per_unit * options.hbm_traffic_factor / 2.0;
    }
  }
  std::vector<Demand> list;
  for (const auto& [resource, per_unit] : demands) list.push_back({resource, per_unit});
  return list;
}

std::vector<Activity> fluid_activities(std::span<const Lane> lanes, const LaneWork& work,
                                       const CommunicatorCards& cards, const Topology& topology,
                                       const CollectiveOptions& options) {
  std::vector<Activity> activities;
  for (const Lane& lane : lanes) {
    Activity activity;
    activity.work = work.work * lane.share;
    activity.payload = work.payload;
    activity.cap = work.cap * lane.share;
    activity.weight = static_cast<double>(work.ctas) * lane.share;
    activity.demands = demands_of(lane.hops, cards, topology, options);
    activities.push_back(std::move(activity));
  }
  return activities;
}

MessageParts message_parts(std::span<const Lane> lanes, const LaneWork& work, const CommunicatorCards& cards,
                           const Topology& topology, const CollectiveOptions& options) {
  MessageWriter writer(work, cards, topology, options);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    switch (lanes[i].kind) {
      case LaneKind::ring:
        writer.add_ring(lanes[i]);
        break;
      case LaneKind::tree_up:
        writer.add_tree(lanes[i], lanes[i + 1]);
        break;
      case LaneKind::tree_down:
        break;  // with the way up before it
      case LaneKind::switches:
        writer.add_switches(lanes[i]);
        break;
    }
  }
  return writer.take();
}

}  // namespace takt
