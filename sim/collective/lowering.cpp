// The ring, fluid and step by step.
//
// A ring over n members moves V = S / n a step, in h steps: n - 1 for an all-gather or reduce-scatter, 2 (n - 1) for an
// all-reduce. Each edge moves h V bytes in all. With B the share that the links leave each edge, c CTAs of rate rc, and
// lambda steps of pipeline fill:
//
//     t = fixed + V max( (h + lambda) / B, (h + 1) / (c rc) )
//
// because a channel's CTA takes its h + 1 steps one after another. As an activity: work V (h + lambda), of which h V is
// data; the links share it at B; its cap is c rc (h + lambda) / (h + 1). What NCCL's kernels reach of a raw link rate
// (SM stores over PCIe, NVLink protocol) is a cap too, divided by how often the ring crosses the link: a capacity never
// depends on who uses it.
#include "collective/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/contract.hpp"
#include "collective/constants.hpp"
#include "collective/rings.hpp"

namespace takt {
namespace {

namespace constants = collective_constants;
constexpr double giga = 1e9;

/// A ring edge with what its transfer uses.
struct Edge {
  const CardRoute* route = nullptr;
  std::map<ResourceId, double> demands;   // per byte of the edge
};

/// One ring order with its edges.
struct Ring {
  std::vector<Edge> edges;
  std::vector<VertexId> order;
};

/// What the rings together ask of the machine.
struct Shape {
  std::int64_t members = 0;
  std::int64_t steps = 0;                 // h
  std::int64_t network_steps = 0;         // of those, over the network
  double step_size = 0.0;                 // V
  bool all_nvlink = true, any_staged = false;
  Duration slowest_route{};
  std::map<LinkId, double> crossings;     // of each link direction, per byte of every edge, over all orders at equal share
};

std::int64_t steps_of(CollectiveKind kind, std::int64_t members) {
  switch (kind) {
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter: return members - 1;
    case CollectiveKind::all_reduce: return 2 * (members - 1);
    case CollectiveKind::broadcast: return members;   // whole message past every member, cut into n parts
  }
  unreachable("a kind of collective");
}

bool over_nvlink(const CardRoute& route) { return route.type == PathType::nvlink; }

Ring make_ring(const RingOrder& order, const Topology& topology) {
  Ring ring;
  ring.order = order;
  for (std::size_t i = 0; i < order.size(); ++i) {
    Edge edge;
    edge.route = &topology.card_route(order[i], order[(i + 1) % order.size()]);
    for (const LinkId id : edge.route->route.links) {
      const Link& link = topology.link(id);
      edge.demands[link.resource] += 1.0;
      if (link.both_directions) edge.demands[*link.both_directions] += 1.0;
    }
    ring.edges.push_back(std::move(edge));
  }
  return ring;
}

Shape shape_of(const CollectiveCall& call, std::span<const Ring> rings) {
  Shape shape;
  shape.members = static_cast<std::int64_t>(rings.front().order.size());
  shape.steps = steps_of(call.kind, shape.members);
  shape.step_size = static_cast<double>(call.bytes.count()) / static_cast<double>(shape.members);
  std::int64_t network_edges = 0;
  for (const Ring& ring : rings) {
    for (const Edge& edge : ring.edges) {
      shape.all_nvlink = shape.all_nvlink && over_nvlink(*edge.route);
      shape.any_staged = shape.any_staged || edge.route->transport == Transport::host_staged;
      shape.slowest_route = std::max(shape.slowest_route, edge.route->route.latency);
      if (&ring == rings.data() && edge.route->transport == Transport::network) ++network_edges;
      for (const LinkId link : edge.route->route.links) {
        shape.crossings[link] += 1.0 / static_cast<double>(rings.size());
      }
    }
  }
  const std::int64_t passes = call.kind == CollectiveKind::all_reduce ? 2 : 1;
  shape.network_steps = network_edges > 0 ? std::min(shape.steps, passes * (network_edges - 1)) : 0;
  return shape;
}

/// The rate that NCCL's kernels reach on a link; infinite where the link alone limits.
double kernel_rate(const Link& link, bool staged) {
  switch (link.kind) {
    case LinkKind::pcie: {
      // GT/s a lane, times lanes, after 128b/130b coding (Gen3 to Gen5), over 8 bits.
      const double transfers = 8.0 * static_cast<double>(std::int64_t{1} << std::max<std::int64_t>(0, link.generation - 3));
      const double raw = transfers * static_cast<double>(link.lanes) * 128.0 / 130.0 / 8.0 * giga;
      return raw * (staged ? constants::pcie_staged_share : constants::pcie_peer_share);
    }
    case LinkKind::nvlink:
    case LinkKind::nvswitch: {
      const double share = link.generation >= 5   ? constants::nvlink_GBps_gen5 / constants::nvlink_nominal_GBps_gen5
                           : link.generation == 4 ? constants::nvlink_GBps_gen4 / constants::nvlink_nominal_GBps_gen4
                                                  : constants::nvlink_GBps_gen3 / constants::nvlink_nominal_GBps_gen3;
      return link.nominal.count() * share;
    }
    case LinkKind::network: return link.nominal.count() * constants::network_share;
    case LinkKind::socket:
    case LinkKind::memory:
    case LinkKind::fabric: break;
  }
  return std::numeric_limits<double>::infinity();
}

/// A limit with its name, for explanations.
struct Limit {
  double rate = std::numeric_limits<double>::infinity();   // bytes/s of every edge
  std::string name;

  void lower_to(double other, const std::string& why) {
    if (other < rate) {
      rate = other;
      name = why;
    }
  }
};

/// Whether the ring visits every card of each server that it visits: then the server file's channels hold.
bool whole_servers(std::span<const VertexId> members, const Topology& topology) {
  std::map<std::int32_t, std::size_t> visited;
  for (const VertexId member : members) ++visited[topology.device(member).server];
  const std::size_t cards_a_server = topology.cards().size() / static_cast<std::size_t>(topology.server_count());
  return std::all_of(visited.begin(), visited.end(), [&](const auto& s) { return s.second == cards_a_server; });
}

std::int64_t ctas_of(const Shape& shape, std::span<const VertexId> members, const Topology& topology,
                     const CollectiveOptions& options) {
  if (options.settings.channels) return *options.settings.channels;
  const std::int64_t of_server = topology.server_spec().nccl.channels;
  if (of_server > 0 && whole_servers(members, topology)) return of_server;
  if (shape.all_nvlink) return constants::ctas_nvlink;
  return shape.any_staged ? constants::ctas_staged : constants::ctas_peer;
}

double fill_steps(const Shape& shape) { return shape.all_nvlink ? constants::nvlink_fill_steps : 0.0; }

Limit kernel_limit(const Shape& shape, std::int64_t ctas, const Topology& topology) {
  Limit limit;
  for (const auto& [id, crossings] : shape.crossings) {
    const Link& link = topology.link(id);
    limit.lower_to(kernel_rate(link, shape.any_staged) / crossings,
                   fmt::format("what NCCL's kernels reach on {} -> {}", topology.device(topology.link_source(id)).name,
                               topology.device(topology.link_target(id)).name));
  }
  const double per_cta = shape.all_nvlink   ? constants::cta_GBps_nvlink
                         : shape.any_staged ? constants::cta_GBps_staged
                                            : constants::cta_GBps_peer;
  const double steps = static_cast<double>(shape.steps);
  limit.lower_to(per_cta * giga * static_cast<double>(ctas) * (steps + fill_steps(shape)) / (steps + 1.0),
                 fmt::format("{} CTAs of {} GB/s", ctas, per_cta));
  return limit;
}

Limit link_limit(const Shape& shape, const Topology& topology) {
  Limit limit;
  for (const auto& [id, crossings] : shape.crossings) {
    limit.lower_to(topology.link(id).capacity.count() / crossings,
                   fmt::format("{} -> {}", topology.device(topology.link_source(id)).name,
                               topology.device(topology.link_target(id)).name));
  }
  return limit;
}

Duration fixed_time(const Shape& shape, const CollectiveOptions& options) {
  const std::int64_t local_steps = shape.steps - shape.network_steps;
  if (!options.nccl_limits) {
    const Duration hop = shape.slowest_route + options.settings.hop_latency.value_or(Duration{});
    return options.settings.base_latency.value_or(Duration{}) + hop * shape.steps;
  }
  const Duration hop = shape.all_nvlink ? constants::hop_nvlink
                       : shape.any_staged ? constants::hop_staged : constants::hop_peer;
  const Duration first = shape.all_nvlink ? constants::first_step_nvlink : constants::first_step_pcie;
  return options.settings.base_latency.value_or(constants::base + first) +
         options.settings.hop_latency.value_or(hop) * local_steps + constants::hop_network * shape.network_steps;
}

ResourceId memory_of(VertexId card, const Topology& topology) {
  return topology.cards()[static_cast<std::size_t>(topology.device(card).card)].memory;
}

void add_card_memory(std::map<ResourceId, double>& demands, const Ring& ring, const Topology& topology,
                     const CollectiveOptions& options) {
  if (!options.memory_contention) return;
  for (const VertexId vertex : ring.order) {
    demands[memory_of(vertex, topology)] += options.hbm_traffic_factor;
  }
}

std::vector<Demand> as_list(const std::map<ResourceId, double>& demands) {
  std::vector<Demand> list;
  for (const auto& [resource, per_unit] : demands) list.push_back({resource, per_unit});
  return list;
}

/// One activity an order: all its channels move at one rate.
std::vector<Activity> fluid_activities(std::span<const Ring> rings, const Shape& shape, double cap, std::int64_t ctas,
                                       const Topology& topology, const CollectiveOptions& options) {
  const auto orders = static_cast<double>(rings.size());
  const double steps = static_cast<double>(shape.steps);
  const double fill = options.nccl_limits ? fill_steps(shape) : 0.0;
  std::vector<Activity> activities;
  for (const Ring& ring : rings) {
    std::map<ResourceId, double> demands;
    for (const Edge& edge : ring.edges) {
      for (const auto& [resource, per_unit] : edge.demands) demands[resource] += per_unit;
    }
    add_card_memory(demands, ring, topology, options);
    Activity activity;
    activity.work = shape.step_size * (steps + fill) / orders;
    activity.payload = steps / (steps + fill);
    activity.cap = cap / orders;
    activity.weight = static_cast<double>(ctas) / orders;
    activity.demands = as_list(demands);
    activities.push_back(std::move(activity));
  }
  return activities;
}

/// How a step's message is cut: whole, or into NCCL's pipeline chunks of 2 MiB a channel (semantics N60).
std::uint32_t chunks_of(const Shape& shape, std::int64_t ctas, std::size_t orders, const CollectiveOptions& options) {
  if (options.settings.chunk == Chunk::step) return 1;
  const double channels = std::max(1.0, static_cast<double>(ctas) / static_cast<double>(orders));
  const double chunk = static_cast<double>(constants::pipeline_chunk.count()) * channels;
  return static_cast<std::uint32_t>(std::ceil(std::max(1.0, shape.step_size / static_cast<double>(orders) / chunk)));
}

/// One activity a message. Member i's message of step s passes on what came from i - 1 in step s - 1, and a channel
/// sends one message after another: all steps of a chunk, then the next chunk.
std::vector<Activity> step_activities(std::span<const Ring> rings, const Shape& shape, double cap, std::int64_t ctas,
                                      Duration hop, const Topology& topology, const CollectiveOptions& options) {
  const auto orders = static_cast<double>(rings.size());
  const std::uint32_t chunks = chunks_of(shape, ctas, rings.size(), options);
  const auto members = static_cast<std::uint32_t>(shape.members), steps = static_cast<std::uint32_t>(shape.steps);
  std::vector<Activity> activities;
  activities.reserve(rings.size() * chunks * steps * members);
  for (const Ring& ring : rings) {
    std::vector<std::vector<Demand>> demands;
    for (std::uint32_t i = 0; i < members; ++i) {
      std::map<ResourceId, double> edge = ring.edges[i].demands;
      if (options.memory_contention) {
        // Half of the factor at each end: the sender reads what the receiver writes.
        edge[memory_of(ring.order[i], topology)] += options.hbm_traffic_factor / 2.0;
        edge[memory_of(ring.order[(i + 1) % members], topology)] += options.hbm_traffic_factor / 2.0;
      }
      demands.push_back(as_list(edge));
    }
    const auto base = static_cast<std::uint32_t>(activities.size());
    for (std::uint32_t turn = 0; turn < chunks * steps; ++turn) {
      for (std::uint32_t i = 0; i < members; ++i) {
        Activity activity;
        activity.work = shape.step_size / orders / chunks;
        activity.cap = cap / orders;
        activity.weight = static_cast<double>(ctas) / orders;
        activity.latency = hop;
        activity.demands = demands[i];
        const std::uint32_t before = base + (turn - 1) * members;
        if (turn % steps > 0) activity.after.push_back(before + (i + members - 1) % members);
        if (turn > 0) activity.after.push_back(before + i);
        activities.push_back(std::move(activity));
      }
    }
  }
  return activities;
}

}  // namespace

LoweredCollective lower_collective(const CollectiveCall& call, std::span<const VertexId> members,
                                   const Topology& topology, const CollectiveOptions& options) {
  LoweredCollective lowered;
  if (members.size() < 2 || call.bytes.count() <= 0) {
    lowered.explanation = "nothing to move";
    return lowered;
  }
  std::vector<Ring> rings;
  for (const RingOrder& order : ring_orders(members, topology)) rings.push_back(make_ring(order, topology));
  const Shape shape = shape_of(call, rings);
  lowered.ctas = ctas_of(shape, members, topology, options);
  lowered.moved_per_rank = Bytes((call.bytes.count() * shape.steps + shape.members - 1) / shape.members);
  Limit kernels;
  if (options.nccl_limits) kernels = kernel_limit(shape, lowered.ctas, topology);
  const Limit links = link_limit(shape, topology);
  lowered.explanation = fmt::format("ring over {} cards{}, {} CTAs; alone limited by {}", shape.members,
                                    rings.size() > 1 ? fmt::format(" in {} orders", rings.size()) : "", lowered.ctas,
                                    links.rate < kernels.rate ? links.name : kernels.name);
  if (options.settings.fidelity == Fidelity::chunked) {
    const Duration fixed = fixed_time(shape, options);
    const Duration hop = options.nccl_limits ? options.settings.hop_latency.value_or(constants::hop_peer)
                                             : shape.slowest_route + options.settings.hop_latency.value_or(Duration{});
    lowered.fixed = std::max(Duration{}, fixed - hop * shape.steps);
    lowered.activities = step_activities(rings, shape, kernels.rate, lowered.ctas, hop, topology, options);
  } else {
    lowered.fixed = fixed_time(shape, options);
    lowered.activities = fluid_activities(rings, shape, kernels.rate, lowered.ctas, topology, options);
  }
  return lowered;
}

}  // namespace takt
