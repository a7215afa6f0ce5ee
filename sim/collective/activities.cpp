#include "collective/activities.hpp"

#include <algorithm>
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

  std::vector<Activity> take() { return std::move(activities_); }

  /// Member i's message of step s passes on what came from i - 1 in step s - 1, and a channel sends one message after
  /// another: all steps of a chunk, then the next chunk.
  void add_ring(const Lane& lane) {
    const auto members = static_cast<std::uint32_t>(lane.hops.size());
    const auto steps = static_cast<std::uint32_t>(work_.steps);
    const double message = work_.work * lane.share / static_cast<double>(steps);
    const std::uint32_t chunks = options_.settings.chunk == Chunk::step ? 1 : chunks_;
    const auto base = static_cast<std::uint32_t>(activities_.size());
    const std::vector<Activity> kinds = one_a_hop(lane, message / chunks);
    for (std::uint32_t turn = 0; turn < chunks * steps; ++turn) {
      for (std::uint32_t i = 0; i < members; ++i) {
        Activity activity = kinds[i];
        const std::uint32_t before = base + (turn - 1) * members;
        if (turn % steps > 0) activity.after.push_back(before + (i + members - 1) % members);
        if (turn > 0) activity.after.push_back(before + i);
        activities_.push_back(std::move(activity));
      }
    }
  }

  /// A chunk leaves a card when it has come from all below (up) or from above (down), and after the chunk before it.
  /// The way down of a chunk begins where its way up ends.
  void add_tree(const Lane& up, const Lane& down) {
    const double bytes = work_.work * up.share / static_cast<double>(chunks_);
    const std::vector<Activity> rising = one_a_hop(up, bytes), falling = one_a_hop(down, bytes);
    const std::vector<std::size_t> upwards = in_order(up), downwards = in_order(down);
    std::vector<std::uint32_t> last_up(up.hops.size()), last_down(down.hops.size());
    for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) {
      std::vector<std::uint32_t> arrived_up(up.hops.size()), arrived_down(down.hops.size());
      for (const std::size_t hop : upwards) {
        const std::vector<std::uint32_t> before = arrivals_at(up.hops[hop].from, up, arrived_up);
        last_up[hop] = arrived_up[hop] = add_message(rising[hop], before, chunk > 0 ? &last_up[hop] : nullptr);
      }
      for (const std::size_t hop : downwards) {
        const std::size_t sender = down.hops[hop].from;
        std::vector<std::uint32_t> before = arrivals_at(sender, down, arrived_down);
        if (before.empty()) before = arrivals_at(sender, up, arrived_up);
        last_down[hop] = arrived_down[hop] = add_message(falling[hop], before, chunk > 0 ? &last_down[hop] : nullptr);
      }
    }
  }

  /// All cards at once, one chunk after another.
  void add_switches(const Lane& lane) {
    Activity part = activity_of(lane.hops, work_.work * lane.share / static_cast<double>(chunks_), lane.share);
    part.latency = {};
    for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) {
      if (chunk > 0) part.after = {static_cast<std::uint32_t>(activities_.size() - 1)};
      activities_.push_back(part);
    }
  }

 private:
  Activity activity_of(std::span<const Hop> hops, double bytes, double share) const {
    Activity activity;
    activity.work = bytes;
    activity.payload = work_.payload;
    activity.cap = work_.cap * share;
    activity.weight = static_cast<double>(work_.ctas) * share;
    activity.latency = work_.hop;
    activity.demands = demands_of(hops, cards_, topology_, options_);
    return activity;
  }

  /// Adds a message that follows `previous` on its edge and passes on what has arrived with `before`; its number.
  std::uint32_t add_message(Activity message, const std::vector<std::uint32_t>& before, const std::uint32_t* previous) {
    message.after = before;
    if (previous != nullptr) {
      message.latency = {};
      if (!before.empty()) {  // the hop's time passes beside the message before
        Activity arrival;
        arrival.latency = work_.hop;
        arrival.after = before;
        activities_.push_back(std::move(arrival));
        message.after = {static_cast<std::uint32_t>(activities_.size() - 1)};
      }
      message.after.push_back(*previous);
    }
    activities_.push_back(std::move(message));
    return static_cast<std::uint32_t>(activities_.size() - 1);
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

  std::vector<Activity> one_a_hop(const Lane& lane, double bytes) const {
    std::vector<Activity> list;
    for (const Hop& hop : lane.hops) list.push_back(activity_of({&hop, 1}, bytes, lane.share));
    return list;
  }

  const LaneWork& work_;
  std::uint32_t chunks_;
  const CommunicatorCards& cards_;
  const Topology& topology_;
  const CollectiveOptions& options_;
  std::vector<Activity> activities_;
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

std::vector<Activity> message_activities(std::span<const Lane> lanes, const LaneWork& work,
                                         const CommunicatorCards& cards, const Topology& topology,
                                         const CollectiveOptions& options) {
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
