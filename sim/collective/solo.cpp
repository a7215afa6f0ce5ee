#include "collective/solo.hpp"

#include "base/contract.hpp"
#include "collective/nccl/chunking.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>

namespace takt {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();
constexpr double giga = 1e9;

/// GB/s per NVLink and direction that NCCL's kernels reach and that data sheets state, by NVLink generation: NCCL's own
/// constants (N2) of 25, 25 and 50.
constexpr double nvlink_share(std::int64_t generation) {
  if (generation >= 5) return 40.1 / 50.0;
  return generation == 4 ? 20.6 / 25.0 : 20.0 / 25.0;
}

/// GT/s a lane, times lanes, after 128b/130b coding (generations 3 to 5), over 8 bits; bytes/s.
double raw_pcie(const Link& link) {
  const double transfers = 8.0 * static_cast<double>(std::int64_t{1} << std::max<std::int64_t>(0, link.generation - 3));
  return transfers * static_cast<double>(link.lanes) * 128.0 / 130.0 / 8.0 * giga;
}

double raw_rate(const Link& link) {
  switch (link.kind) {
    case LinkKind::pcie:
      return raw_pcie(link);
    case LinkKind::nvlink:
    case LinkKind::nvswitch:
      return link.nominal.count() * nvlink_share(link.generation);
    case LinkKind::network:
      return link.nominal.count();
    case LinkKind::socket:
    case LinkKind::memory:
    case LinkKind::fabric:
      break;
  }
  return unlimited;
}

bool is_nvlink(const LinkLoad& load) {
  return load.kind == LinkKind::nvlink || load.kind == LinkKind::nvswitch;
}

/// The share of a link that a kind of hop reaches. A NIC that reads a card's memory is limited by itself alone.
double usable_share(const LinkLoad& load, HopKind hop, const RuntimeQuery& query, const RuntimeConstants& constants) {
  if (load.kind == LinkKind::network) return constants.of(query.fabric).usable;
  if (load.kind == LinkKind::pcie && hop == HopKind::net) return unlimited;
  return constants.of(hop).usable;
}

double seconds_a_unit(const LinkLoad& load, const RuntimeQuery& query, const RuntimeConstants& constants) {
  if (load.raw == unlimited) return 0.0;
  double seconds = 0.0;
  for (std::size_t k = 0; k < hop_kinds; ++k) {
    if (load.by_kind[k] == 0.0) continue;
    seconds += load.by_kind[k] / (load.raw * usable_share(load, static_cast<HopKind>(k), query, constants));
  }
  return seconds;
}

/// The lowest rate over some of the loads, bytes/s, with the link that sets it.
struct LowestRate {
  double rate = unlimited;
  const LinkLoad* load = nullptr;

  void lower_to(double other, const LinkLoad& by) {
    if (other >= rate) return;
    rate = other;
    load = &by;
  }
};

bool by_switches(const RuntimeQuery& query) {
  return query.algorithm == NcclAlgorithm::nvls || query.algorithm == NcclAlgorithm::nvls_tree;
}

}  // namespace

double LinkLoad::all_kinds() const {
  double sum = 0.0;
  for (const double one : by_kind) sum += one;
  return sum;
}

double SoloTime::time_us() const {
  return estimate.fixed_us() + estimate.work_bytes / rate() * 1e6;
}

std::vector<LinkLoad> link_loads(std::span<const Lane> lanes, const Topology& topology) {
  std::map<LinkId, LinkLoad> loads;
  std::map<ResourceId, LinkLoad> sums;  // of links whose both directions together are capped too
  for (const Lane& lane : lanes) {
    for (const Hop& hop : lane.hops) {
      const auto kind = static_cast<std::size_t>(hop.kind);
      const double bytes = lane.share * hop.per_unit;
      for (const LinkId id : hop.links) {
        const Link& link = topology.link(id);
        const LinkLoad fresh{id, link.kind, link.capacity.count(), raw_rate(link), {}};
        loads.try_emplace(id, fresh).first->second.by_kind[kind] += bytes;
        if (!link.both_directions) continue;
        const double of_both = topology.resources()[index(*link.both_directions)].capacity;
        const LinkLoad sum{id, link.kind, of_both, unlimited, {}};
        sums.try_emplace(*link.both_directions, sum).first->second.by_kind[kind] += bytes;
      }
    }
  }
  // Links that are alike in all that counts limit alike: the first stands for them.
  std::vector<LinkLoad> list;
  const auto keep = [&](const LinkLoad& load) {
    const bool known = std::any_of(list.begin(), list.end(), [&](const LinkLoad& other) {
      return other.kind == load.kind && other.capacity == load.capacity && other.raw == load.raw &&
             other.by_kind == load.by_kind;
    });
    if (!known) list.push_back(load);
  };
  for (const auto& [id, load] : loads) keep(load);
  for (const auto& [id, load] : sums) keep(load);
  return list;
}

namespace {

/// A tree's first chunk on the longest way, F, less the time of a chunk in steady state. Where the rate is that of links
/// which the ways up and down share, the one that is there alone, for F / 2 at the start and at the end, moves at the
/// kernels' rate instead: that takes F / 2 (kernels / links - 1) off.
double fill_us(const CollectiveShape& shape, const SoloTime& time) {
  if (shape.way.capacities.empty()) return 0.0;
  const double of_chunks = time.estimate.work_bytes / static_cast<double>(chunks_of_channel(shape.query));
  double seconds = -of_chunks / time.rate();
  for (const double capacity : shape.way.capacities) {
    seconds += of_chunks * shape.way.share / std::min(time.kernel_rate * shape.way.share, capacity);
  }
  const double alone_for_half = (time.kernel_rate / time.rate() - 1.0) / 2.0;
  return std::max(0.0, seconds * (1.0 - alone_for_half) * 1e6);
}

}  // namespace

SoloTime solo_time(const CollectiveShape& shape, const RuntimeConstants& constants) {
  LowestRate kernels, network, links;
  for (const LinkLoad& load : shape.loads) {
    links.lower_to(load.capacity / load.all_kinds(), load);
    if (by_switches(shape.query)) {
      // The model counts all NVLinks of a card, whatever the passes.
      if (is_nvlink(load) && load.raw < unlimited)
        kernels.lower_to(load.raw * constants.of(HopKind::nvlink).usable, load);
      else
        network.lower_to(1.0 / seconds_a_unit(load, shape.query, constants), load);
    } else {
      kernels.lower_to(1.0 / seconds_a_unit(load, shape.query, constants), load);
    }
  }
  RuntimeQuery query = shape.query;
  query.edge_rate = kernels.rate / giga;
  query.network_rate = network.rate / giga;
  SoloTime time;
  time.estimate = estimate_runtime(query, constants);
  time.kernel_rate = std::min(time.estimate.link_rate, time.estimate.cta_rate) * giga;
  time.link_rate = links.rate;
  time.estimate.fill_us = fill_us(shape, time);
  time.kernel_link = time.estimate.limit == RuntimeLimit::network ? network.load : kernels.load;
  time.busiest_link = links.load;
  return time;
}

std::string limit_of(const SoloTime& time, const CollectiveShape& shape, const Topology& topology) {
  const auto name = [&](const LinkLoad* load) {
    if (load == nullptr) return std::string("nothing");
    return fmt::format("{} -> {}", topology.device(topology.link_source(load->link)).name,
                       topology.device(topology.link_target(load->link)).name);
  };
  if (time.link_rate <= time.kernel_rate) return name(time.busiest_link);
  if (time.estimate.limit == RuntimeLimit::ctas) {
    return fmt::format("{} CTAs of {:.3g} GB/s", shape.query.ctas, time.estimate.per_cta);
  }
  return "what NCCL's kernels reach on " + name(time.kernel_link);
}

}  // namespace takt
