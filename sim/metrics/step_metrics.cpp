#include "metrics/step_metrics.hpp"

#include "metrics/blame.hpp"
#include "metrics/memory_use.hpp"
#include "metrics/rank_time.hpp"
#include "metrics/reserved_memory.hpp"

#include <algorithm>
#include <cmath>

namespace takt {
namespace {

/// Names of the devices at both ends of the link that a resource belongs to, and of the other kinds nothing.
struct Ends {
  std::string from;
  std::string to;
};

std::vector<Ends> ends_of_resources(const Topology& topology) {
  std::vector<Ends> ends(topology.resources().size());
  for (std::size_t i = topology.link_count(); i-- > 0;) {
    const LinkId id = id_at<LinkId>(i);
    const Link& link = topology.link(id);
    const Ends of_link{topology.device(topology.link_source(id)).name, topology.device(topology.link_target(id)).name};
    ends[index(link.resource)] = of_link;
    if (link.both_directions) ends[index(*link.both_directions)] = of_link;
  }
  return ends;
}

std::vector<LinkMetrics> link_usage(const Topology& topology, const Timeline& timeline) {
  const std::vector<Ends> ends = ends_of_resources(topology);
  std::vector<LinkMetrics> links;
  for (std::size_t i = 0; i < timeline.resources.size(); ++i) {
    const Resource& resource = topology.resources()[i];
    const ResourceUse& use = timeline.resources[i];
    const bool is_link = resource.kind == ResourceKind::link || resource.kind == ResourceKind::both_directions;
    if (!is_link || !(use.moved > 0.0)) continue;
    LinkMetrics link{resource.name,
                     ends[i].from,
                     ends[i].to,
                     resource.kind,
                     Bandwidth(resource.capacity),
                     Bytes(std::llround(use.moved)),
                     use.busy,
                     0.0,
                     use.peak / resource.capacity};
    if (timeline.end > Duration{}) link.utilisation_mean = use.moved / (resource.capacity * to_seconds(timeline.end));
    links.push_back(std::move(link));
  }
  std::stable_sort(links.begin(), links.end(), [](const LinkMetrics& a, const LinkMetrics& b) {
    return a.utilisation_mean != b.utilisation_mean ? a.utilisation_mean > b.utilisation_mean : a.name < b.name;
  });
  return links;
}

/// Whether two ranks' memory went the same way: the same program at the same times.
bool same_times(const std::vector<OpRecord>& a, const std::vector<OpRecord>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const OpRecord& x, const OpRecord& y) {
    return x.ready == y.ready && x.start == y.start && x.end == y.end;
  });
}

/// Memory of the rank that needs the largest part of its card.
MemoryMetrics memory_of_fullest_rank(const BuiltPlan& built, const Topology& topology,
                                     const std::vector<CardInstance>& cards, const Timeline& timeline) {
  const Plan& plan = built.plan;
  MemoryMetrics fullest;
  double fullest_part = -1.0;
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    const bool as_before = rank > 0 && plan.ranks[rank].role == plan.ranks[rank - 1].role &&
                           cards[rank].spec == cards[rank - 1].spec &&
                           same_times(timeline.ops[rank], timeline.ops[rank - 1]);
    if (as_before) continue;
    const MemoryPeak peak = memory_peak(plan, timeline, id_at<RankId>(rank));
    const CardSpec& card = topology.card_spec(cards[rank]);
    const double part = static_cast<double>(peak.allocated.count()) / static_cast<double>(card.memory_visible.count());
    if (part <= fullest_part) continue;
    fullest_part = part;
    fullest = MemoryMetrics{};
    fullest.capacity = card.memory_visible;
    fullest.nominal = card.memory_nominal;
    fullest.peak = peak.allocated;
    fullest.states = built.facts.states_per_rank;
    fullest.components = by_name(peak.by_category);
    fullest.fits = peak.allocated <= card.memory_visible;
    fullest.rank = static_cast<std::int64_t>(rank);
    fullest.peak_time = peak.when;
    if (peak.any) fullest.peak_op = describe(plan.programs[index(plan.ranks[rank].role)], peak.op);
  }
  return fullest;
}

/// Of the phases that have a peak of their own.
const char* name_of(Phase phase) {
  if (phase == Phase::forward) return "forward";
  return phase == Phase::backward ? "backward" : "optimizer";
}

std::vector<PhasePeak> phase_peaks(const Plan& plan, const Timeline& timeline, RankId rank) {
  std::vector<PhasePeak> peaks;
  for (const PeakOfPhase& peak : peaks_of_phases(plan, timeline, rank)) {
    peaks.push_back({name_of(peak.phase), peak.state.allocated, peak.state.when,
                     describe(plan.programs[index(plan.ranks[index(rank)].role)], peak.state.taker),
                     by_name(peak.state.by_category)});
  }
  return peaks;
}

MemoryMetrics memory_metrics(const Scenario& scenario, const BuiltPlan& built, const Topology& topology,
                             const std::vector<CardInstance>& cards, const Timeline& timeline) {
  MemoryMetrics memory = memory_of_fullest_rank(built, topology, cards, timeline);
  if (built.plan.ranks.empty()) return memory;
  const RankId rank = id_at<RankId>(static_cast<std::size_t>(memory.rank));
  memory.phases = phase_peaks(built.plan, timeline, rank);
  memory.use = card_use(measured_overhead(scenario, static_cast<std::int64_t>(built.plan.ranks.size())), memory.peak,
                        nccl_buffers(built.plan, rank), memory.capacity);
  return memory;
}

}  // namespace

StepMetrics compute_metrics(const Scenario& scenario, const Workload& workload, const BuiltPlan& built,
                            const Topology& topology, const std::vector<CardInstance>& cards,
                            const Timeline& timeline) {
  StepMetrics metrics;
  metrics.step_time = timeline.end;
  metrics.ranks = static_cast<std::int64_t>(built.plan.ranks.size());
  const std::int64_t micro_steps = scenario.batch.gradient_accumulation;
  metrics.tokens_per_step = workload.tokens * micro_steps * metrics.ranks;
  const double seconds = to_seconds(timeline.end);
  if (seconds > 0.0) {
    metrics.tokens_per_second = static_cast<double>(metrics.tokens_per_step) / seconds;
    metrics.tokens_per_second_per_card = metrics.tokens_per_second / static_cast<double>(metrics.ranks);
    const double possible = workload.peak.count() * seconds;
    if (possible > 0.0) {
      metrics.mfu = workload.model_flops.count() * static_cast<double>(micro_steps) / possible;
      metrics.hfu = workload.hardware_flops.count() * static_cast<double>(micro_steps) / possible;
    }
  }
  const RankTime time = rank_time(built.plan, timeline, slowest_rank(timeline));
  metrics.breakdown = time.breakdown;
  metrics.communication = time.communication;
  metrics.links = link_usage(topology, timeline);
  metrics.memory = memory_metrics(scenario, built, topology, cards, timeline);
  metrics.blame = blame(built.plan, timeline, topology.resources());
  return metrics;
}

}  // namespace takt
