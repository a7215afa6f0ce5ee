#include "collective/lowering.hpp"

#include "collective/activities.hpp"
#include "collective/islands.hpp"
#include "collective/nccl/buffers.hpp"
#include "collective/nccl/chunking.hpp"
#include "collective/nccl/topology_xml.hpp"
#include "collective/shape.hpp"
#include "collective/way.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace takt {
namespace {

Duration from_us(double us) {
  return duration_from_seconds(us * 1e-6);
}

Diagnostic refusal(std::string message, std::string hint) {
  return {Severity::error, {}, std::move(message), std::move(hint)};
}

/// Data that each card sends, and receives: on the mean of all cards where they differ (trees).
Bytes moved_by(const CollectiveCall& call, std::int64_t members) {
  const std::int64_t passes = call.kind == CollectiveKind::all_reduce ? 2 : 1;
  const std::int64_t parts = call.kind == CollectiveKind::broadcast ? members : passes * (members - 1);
  return Bytes((call.bytes.count() * parts + members - 1) / members);
}

/// Share of the work that is data: the rest is flags, and steps that a ring loses.
double payload_of(const RuntimeEstimate& estimate, const RuntimeQuery& query) {
  const double bytes = static_cast<double>(query.call.bytes.count());
  switch (query.algorithm) {
    case NcclAlgorithm::nvls:
      return 1.0;
    case NcclAlgorithm::tree:
    case NcclAlgorithm::nvls_tree:
      return bytes / estimate.work_bytes;
    default:
      break;
  }
  const double data = bytes / static_cast<double>(query.ranks) * static_cast<double>(estimate.steps);
  return data / estimate.work_bytes;
}

/// Fixed times as the options leave them.
struct FixedTime {
  Duration start{}, steps{}, fill{};

  Duration all() const { return start + steps + fill; }
};

FixedTime fixed_time(const SoloTime& solo, const CollectiveShape& shape, const CollectiveOptions& options) {
  const std::int64_t steps = solo.estimate.steps;
  if (!options.nccl_limits) {
    const Duration hop = shape.slowest_route + options.settings.hop_latency.value_or(Duration{});
    return {options.settings.base_latency.value_or(Duration{}), hop * steps, {}};
  }
  FixedTime fixed{options.settings.base_latency.value_or(from_us(solo.estimate.start_us)),
                  from_us(solo.estimate.steps_us), from_us(solo.estimate.fill_us)};
  if (options.settings.hop_latency) fixed.steps = *options.settings.hop_latency * steps;
  return fixed;
}

/// Without NCCL's limits nothing but data is moved, at what links allow.
void lift_limits(SoloTime& solo, const CollectiveShape& shape) {
  const double data = payload_of(solo.estimate, shape.query);
  if (shape.query.protocol == NcclProtocol::simple) solo.estimate.work_bytes *= data;
  solo.kernel_rate = std::numeric_limits<double>::infinity();
}

/// Whether the one says less than the other.
bool is_wider(const std::optional<PredictionInterval>& one, const std::optional<PredictionInterval>& other) {
  return one && (!other || one->reach() > other->reach());
}

CallBuffers buffers_of(const CollectiveShape& shape, const CommunicatorCards& cards) {
  const RuntimeQuery& query = shape.query;
  nccl::Connections connections{query.algorithm, query.ctas, query.ctas, query.ranks / query.nodes, query.hops};
  if (cards.plan) {
    connections.channels = std::max(query.ctas, cards.plan->communicator.channels);
    connections.nvls_channels = cards.plan->communicator.nvls_channels;
  }
  return {static_cast<std::uint8_t>(query.algorithm), nccl::bytes_on_card(connections)};
}

PricedCollective price_shaped(const ShapedCall& shaped, const CommunicatorCards& cards, const Topology& topology,
                              const CollectiveOptions& options) {
  const CollectiveShape& shape = shaped.shape;
  SoloTime solo = solo_time(shape);
  if (!options.nccl_limits) lift_limits(solo, shape);
  const FixedTime fixed = fixed_time(solo, shape, options);
  LaneWork work;
  work.work = solo.estimate.work_bytes;
  work.payload = payload_of(solo.estimate, shape.query);
  work.cap = solo.kernel_rate;
  work.steps = std::max<std::int64_t>(1, solo.estimate.steps);
  work.ctas = shape.query.ctas;

  PricedCollective priced;
  LoweredCollective& lowered = priced.lowered;
  lowered.ctas = shape.query.ctas;
  lowered.moved_per_rank = moved_by(shape.query.call, shape.query.ranks);
  lowered.buffers = buffers_of(shape, cards);
  if (options.settings.fidelity == Fidelity::chunked) {
    work.hop = Duration(fixed.steps.count() / work.steps);
    work.chunks = chunks_of_channel(shape.query);
    // What switches reduce moves on all ways at once: its hops are no messages.
    const bool by_message = shape.lanes.front().kind != LaneKind::switches;
    lowered.fixed = by_message ? fixed.start : fixed.all();  // messages take their steps and fill the pipeline
    MessageParts messages = message_parts(shape.lanes, work, cards, topology, options);
    lowered.activities = std::move(messages.activities);
    lowered.parts = std::move(messages.parts);
  } else {
    lowered.fixed = fixed.all();
    lowered.activities = fluid_activities(shape.lanes, work, cards, topology, options);
  }

  CollectiveAccount& account = priced.account;
  account.algorithm = to_text(shape.query.algorithm);
  account.protocol = to_text(shape.query.protocol);
  account.ctas = lowered.ctas;
  account.limit = limit_of(solo, shape, topology);
  const CollectiveWay way = way_of(shape);
  account.way = to_text(way);
  if (options.nccl_limits) lowered.interval = collective_interval(way);
  account.time_us = to_seconds(fixed.all()) * 1e6 + work.work / solo.rate() * 1e6;
  if (cards.plan) {
    account.channels = cards.plan->communicator.channels;
    account.plan = explain(*cards.plan);
    account.planned_us = shaped.choice.planned_time_us;
  }
  lowered.explanation = fmt::format("{} ({}) over {} cards, {} CTAs; alone limited by {}", account.algorithm,
                                    account.protocol, cards.size(), account.ctas, account.limit);
  return priced;
}

}  // namespace

Result<CollectiveOptions> collective_options(const Scenario& scenario) {
  CollectiveOptions options;
  options.settings = scenario.collectives;
  options.nccl = scenario.nccl;
  // With nominal links collectives are the sizing guides' floors: what NCCL's kernels reach was measured on real links.
  options.nccl_limits = scenario.assumptions.nccl_limits && scenario.assumptions.links == LinkBasis::measured;
  options.memory_contention = scenario.assumptions.memory_contention;
  options.hbm_traffic_factor = scenario.assumptions.hbm_traffic_factor;
  if (scenario.nccl.graph_file.empty()) return options;
  const Result<SourceText> text = read_text_file(scenario.nccl.graph_file);
  if (!text) return text.diagnostics();
  Result<NcclGraphFile> graphs = read_nccl_graph_file(*text);
  if (!graphs) return graphs.diagnostics();
  options.graph_file = std::make_shared<const NcclGraphFile>(*std::move(graphs));
  return options;
}

struct CollectiveLowering::Impl {
  Impl(const Topology& t, CollectiveOptions o) : topology(t), options(std::move(o)), links(links_by_server(t)) {}

  Result<PricedCollective> price(const CollectiveCall& call, std::span<const VertexId> members) {
    if (members.size() < 2 || call.bytes.count() <= 0) {
      PricedCollective nothing;
      nothing.lowered.explanation = nothing.account.limit = "nothing to move";
      return nothing;
    }
    if (options.settings.algorithm == CollectiveAlgorithm::hierarchical && call.kind != CollectiveKind::broadcast) {
      const auto islands = islands_of(members, topology);
      if (!islands.empty()) return price_islands(call, islands);
    }
    const Result<CommunicatorCards>& cards = communicator(members);
    if (!cards) return cards.diagnostics();
    const ShapedCall shaped = shape_call(call, *cards, topology, options);
    if (Diagnostics problems = check(call, shaped, *cards); !problems.empty()) return problems;
    return price_shaped(shaped, *cards, topology, options);
  }

  /// An algorithm that was asked for by name and that no such call could ever use here.
  Diagnostics check(const CollectiveCall& call, const ShapedCall& shaped, const CommunicatorCards& cards) const {
    if (call.kind != CollectiveKind::all_reduce || call.reduction != Reduction::sum) return {};
    const bool asked = options.settings.algorithm == CollectiveAlgorithm::nvls;
    const NcclAlgorithm chosen = shaped.choice.algorithm;
    if (!asked || chosen == NcclAlgorithm::nvls || chosen == NcclAlgorithm::nvls_tree) return {};
    return {refusal(fmt::format("no NVLS over these {} cards: no NVSwitch that reduces joins them", cards.size()),
                    "NVLS needs NVSwitches and compute capability 9.0; use auto")};
  }

  const Result<CommunicatorCards>& communicator(std::span<const VertexId> members) {
    std::vector<VertexId> key(members.begin(), members.end());
    const auto known = communicators.find(key);
    if (known != communicators.end()) return known->second;
    Result<CommunicatorCards> made = plan_communicator(members, topology, links, options);
    return communicators.emplace(std::move(key), std::move(made)).first->second;
  }

  Result<PricedCollective> price_islands(const CollectiveCall& call,
                                         const std::vector<std::vector<VertexId>>& islands) {
    PricedCollective whole;
    LoweredCollective& lowered = whole.lowered;
    std::vector<std::uint32_t> before;
    const auto members = static_cast<std::int64_t>(islands.size() * islands.front().size());
    std::set<std::vector<VertexId>> connected;  // parts whose buffers are counted: a card is in one of each step
    for (const std::vector<IslandPart>& step : island_steps(call, islands)) {
      std::vector<std::uint32_t> ends;
      const std::uint32_t first = lowered.parts.size();
      double slowest_us = 0.0, fixed_us = 0.0;
      Bytes buffers{};
      for (const IslandPart& part : step) {
        Result<PricedCollective> priced = price_part(part);
        if (!priced) return priced.diagnostics();
        slowest_us = std::max(slowest_us, priced->account.time_us);
        fixed_us = std::max(fixed_us, to_seconds(priced->lowered.fixed) * 1e6);
        append(lowered, priced->lowered, before, ends);
        if (is_wider(priced->lowered.interval, lowered.interval)) {
          lowered.interval = priced->lowered.interval;
          whole.account.way = priced->account.way;
        }
        if (connected.insert(part.members).second) buffers = std::max(buffers, priced->lowered.buffers.on_card);
      }
      whole.account.time_us += std::max(slowest_us, fixed_us + busiest_us(lowered, first));
      lowered.buffers.on_card += buffers;
      before = std::move(ends);
    }
    lowered.moved_per_rank = moved_by(call, members);
    whole.account.algorithm = "hierarchical";
    whole.account.ctas = lowered.ctas;
    whole.account.limit = "its steps, one after another";
    lowered.explanation = fmt::format("hierarchical over {} islands of {} cards, {} CTAs", islands.size(),
                                      islands.front().size(), lowered.ctas);
    return whole;
  }

  /// How long the busiest resource takes for the parts from `first` on.
  double busiest_us(const LoweredCollective& whole, std::uint32_t first) const {
    std::map<ResourceId, double> units;
    for (std::uint32_t part = first; part < whole.parts.size(); ++part) {
      const Activity& activity = whole.activities[whole.parts.activity(part)];
      for (const Demand& demand : activity.demands) units[demand.resource] += activity.work * demand.per_unit;
    }
    double busiest = 0.0;
    for (const auto& [resource, amount] : units) {
      busiest = std::max(busiest, amount / topology.resources()[index(resource)].capacity);
    }
    return busiest * 1e6;
  }

  Result<PricedCollective> price_part(const IslandPart& part) {
    const Result<CommunicatorCards>& cards = communicator(part.members);
    if (!cards) return cards.diagnostics();
    return price_shaped(shape_call(part.call, *cards, topology, options), *cards, topology, options);
  }

  /// Adds a step whose first parts wait for `before`; its own last ones go to `ends`. Its fixed time stands before each of
  /// its first parts.
  static void append(LoweredCollective& whole, const LoweredCollective& step, const std::vector<std::uint32_t>& before,
                     std::vector<std::uint32_t>& ends) {
    const PartList once = PartList::each_once(step.parts.empty() ? step.activities.size() : 0);
    const PartList& parts = step.parts.empty() ? once : step.parts;
    const std::uint32_t base = whole.parts.size();
    std::map<std::pair<std::uint32_t, Duration>, std::uint32_t> added;  // activities, with the time before them
    std::vector<bool> awaited(parts.size(), false);
    for (std::uint32_t part = 0; part < parts.size(); ++part) {
      std::vector<std::uint32_t> after(parts.after(part).begin(), parts.after(part).end());
      const Duration fixed = after.empty() ? step.fixed : Duration{};
      for (std::uint32_t& earlier : after) {
        awaited[earlier] = true;
        earlier += base;
      }
      const auto next = static_cast<std::uint32_t>(whole.activities.size());
      const auto [activity, is_new] = added.try_emplace({parts.activity(part), fixed}, next);
      if (is_new) {
        whole.activities.push_back(step.activities[parts.activity(part)]);
        whole.activities.back().latency += fixed;
      }
      whole.parts.add(activity->second, after.empty() ? before : after);
    }
    for (std::uint32_t part = 0; part < parts.size(); ++part) {
      if (!awaited[part]) ends.push_back(base + part);
    }
    whole.ctas = std::max(whole.ctas, step.ctas);
  }

  const Topology& topology;
  CollectiveOptions options;
  LinksByServer links;
  std::map<std::vector<VertexId>, Result<CommunicatorCards>> communicators;
};

CollectiveLowering::CollectiveLowering(const Topology& topology, CollectiveOptions options)
    : impl_(std::make_unique<Impl>(topology, std::move(options))) {}
CollectiveLowering::~CollectiveLowering() = default;

Result<PricedCollective> CollectiveLowering::price(const CollectiveCall& call, std::span<const VertexId> members) {
  return impl_->price(call, members);
}

Result<CollectiveShape> CollectiveLowering::shape(const CollectiveCall& call, std::span<const VertexId> members) {
  const Result<CommunicatorCards>& cards = impl_->communicator(members);
  if (!cards) return cards.diagnostics();
  return shape_call(call, *cards, impl_->topology, impl_->options).shape;
}

Result<LoweredCollective> lower_collective(const CollectiveCall& call, std::span<const VertexId> members,
                                           const Topology& topology, const CollectiveOptions& options) {
  Result<PricedCollective> priced = CollectiveLowering(topology, options).price(call, members);
  if (!priced) return priced.diagnostics();
  return std::move(priced->lowered);
}

}  // namespace takt
