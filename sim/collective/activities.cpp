#include "collective/activities.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace takt {
namespace {

/// What a channel sends at once in the Simple protocol: four steps of 512 KiB (semantics N60).
constexpr double pipeline_chunk = 2'097'152;

ResourceId memory_of(std::size_t member, const CommunicatorCards& cards, const Topology& topology) {
  return topology.cards()[static_cast<std::size_t>(topology.device(cards.members[member]).card)].memory;
}

/// How many pipeline chunks `bytes` of a lane are: a chunk for each of its channels.
std::uint32_t chunks_in(double bytes, double share, std::int64_t ctas) {
  const double channels = std::max(1.0, static_cast<double>(ctas) * share);
  return static_cast<std::uint32_t>(std::ceil(std::max(1.0, bytes / (pipeline_chunk * channels))));
}

/// Adds the messages of one lane after another to one list.
class MessageWriter {
 public:
  MessageWriter(const LaneWork& work, const CommunicatorCards& cards, const Topology& topology,
                const CollectiveOptions& options)
      : work_(work), cards_(cards), topology_(topology), options_(options) {}

  std::vector<Activity> take() { return std::move(activities_); }

  /// Member i's message of step s passes on what came from i - 1 in step s - 1, and a channel sends one message after
  /// another: all steps of a chunk, then the next chunk.
  void add_ring(const Lane& lane) {
    const auto members = static_cast<std::uint32_t>(lane.hops.size());
    const auto steps = static_cast<std::uint32_t>(work_.steps);
    const double message = work_.work * lane.share / static_cast<double>(steps);
    const std::uint32_t chunks =
        options_.settings.chunk == Chunk::step ? 1 : chunks_in(message * work_.payload, lane.share, work_.ctas);
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
    const double bytes = work_.work * up.share;
    const std::uint32_t chunks = chunks_in(bytes * work_.payload, up.share, work_.ctas);
    const std::vector<Activity> rising = one_a_hop(up, bytes / chunks), falling = one_a_hop(down, bytes / chunks);
    const auto hops = static_cast<std::uint32_t>(up.hops.size());
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      const auto first_up = static_cast<std::uint32_t>(activities_.size());
      const std::uint32_t first_down = first_up + hops;
      for (std::uint32_t h = 0; h < hops; ++h) {
        Activity activity = rising[h];
        for (std::uint32_t below = 0; below < hops; ++below) {
          if (up.hops[below].to == up.hops[h].from) activity.after.push_back(first_up + below);
        }
        if (chunk > 0) activity.after.push_back(first_up + h - 2 * hops);
        activities_.push_back(std::move(activity));
      }
      for (std::uint32_t h = 0; h < hops; ++h) {
        Activity activity = falling[h];
        const std::size_t sender = down.hops[h].from;
        for (std::uint32_t other = 0; other < hops; ++other) {
          if (down.hops[other].to == sender) activity.after.push_back(first_down + other);
        }
        if (activity.after.empty()) {
          for (std::uint32_t other = 0; other < hops; ++other) {
            if (up.hops[other].to == sender) activity.after.push_back(first_up + other);
          }
        }
        if (chunk > 0) activity.after.push_back(first_down + h - 2 * hops);
        activities_.push_back(std::move(activity));
      }
    }
  }

  /// All cards at once, one chunk after another.
  void add_switches(const Lane& lane) {
    const std::uint32_t chunks = chunks_in(work_.work * work_.payload, lane.share, work_.ctas);
    Activity part = activity_of(lane.hops, work_.work * lane.share / chunks, lane.share);
    part.latency = {};
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
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

  std::vector<Activity> one_a_hop(const Lane& lane, double bytes) const {
    std::vector<Activity> list;
    for (const Hop& hop : lane.hops) list.push_back(activity_of({&hop, 1}, bytes, lane.share));
    return list;
  }

  const LaneWork& work_;
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
