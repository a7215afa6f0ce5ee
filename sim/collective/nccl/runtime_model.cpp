// A channel's CTA runs its steps one after another: an all-gather over n ranks has n steps for n - 1 hops (the last
// only copies), an all-reduce 2n - 1 for 2(n - 1). So a CTA that moves r GB/s carries V (h + 1) bytes in the time in
// which its link carries V h. This is what makes two cards on PCIe slower a byte than eight, and an all-gather slower
// than an all-reduce. With V = S/n, h hops, c CTAs, B the share of an edge:
//
//   ring, LL      h a_LL            + V max((h + 2.8) / (c r_LL),    2 h / B)
//   ring, LL128   h a_128           + V max((h + 2.8) / (c r_128),   128/120 h / B)
//   ring, Simple  start + h a_S     + V max((h + 1) / (c r_S),       (h + lambda) / B),   lambda 0 by way of the host
//   tree          2(p - 1) a + 2 log2(N) x + S max(2 / (c r), flags / A),   A = B with both passes on the links
//   NVLS          start + fill      + S (1 + 1/n) / (C B)
//   NVLSTree      start + fill + 2 log2(N) x + S max((1 + 1/p) / (C B), 1 / network)
//
// plus the base time. p ranks a node, N nodes. Each max is one activity: work at the lesser of two rates.
#include "collective/nccl/runtime_model.hpp"

#include "base/contract.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace takt {
namespace {

constexpr double bytes_per_us = 1e3;           // of 1 GB/s
constexpr double ll_flags = 2.0;               ///< N62: a flag for every word
constexpr double ll128_flags = 128.0 / 120.0;  ///< N62
constexpr double unlimited = std::numeric_limits<double>::infinity();

double as_double(std::int64_t value) {
  return static_cast<double>(value);
}

double log2_floor(std::int64_t value) {
  return as_double(static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(value))) - 1);
}

double flags_of(NcclProtocol protocol) {
  if (protocol == NcclProtocol::ll) return ll_flags;
  return protocol == NcclProtocol::ll128 ? ll128_flags : 1.0;
}

/// What the hops of a ring have in common.
struct Hops {
  double inside_us = 0.0;      ///< a step inside a node, averaged over its hops
  double start_us = 0.0;       ///< Simple, once
  double per_cta = unlimited;  ///< GB/s of the slowest hop
  double loss = 0.0;
};

/// The times of one kind of hop in one protocol.
struct HopTimes {
  double step_us = 0.0, start_us = 0.0, per_cta = 0.0;
};

HopTimes times_of(HopKind kind, const RuntimeQuery& query, const RuntimeConstants& constants) {
  const HopConstants& hop = constants.of(kind);
  switch (query.protocol) {
    case NcclProtocol::ll:
      return {hop.ll_us, 0.0, hop.ll_per_cta};
    case NcclProtocol::ll128:
      return {hop.ll128_us, 0.0, hop.ll128_per_cta};
    case NcclProtocol::simple:
      break;
  }
  if (kind != HopKind::nvlink) return {hop.simple_us, hop.simple_start_us, hop.simple_per_cta};
  const HostConstants& host = constants.of(host_family(query.compute_capability));
  return {host.nvlink_simple_us, host.nvlink_simple_start_us, hop.simple_per_cta};
}

Hops hops_of(const RuntimeQuery& query, const RuntimeConstants& constants) {
  const std::array<std::int64_t, hop_kinds> counts{query.hops.nvlink, query.hops.p2p, query.hops.shm, query.hops.net};
  Hops hops;
  double inside = 0.0, steps_us = 0.0;
  bool only_stores = true;  // cards write to each other, on NVLink or PCIe
  for (std::size_t k = 0; k < hop_kinds; ++k) {
    if (counts[k] == 0) continue;
    const auto kind = static_cast<HopKind>(k);
    const HopTimes times = times_of(kind, query, constants);
    hops.per_cta = std::min(hops.per_cta, times.per_cta);
    only_stores = only_stores && kind != HopKind::shm;
    if (kind == HopKind::net) continue;
    hops.loss = std::max(hops.loss, constants.of(kind).ring_overlap_loss);
    inside += as_double(counts[k]);
    steps_us += as_double(counts[k]) * times.step_us;
    hops.start_us = std::max(hops.start_us, times.start_us);
  }
  if (inside > 0.0) hops.inside_us = steps_us / inside;
  if (!only_stores) hops.loss = 0.0;
  return hops;
}

/// A crossing of the network.
double crossing_us(const RuntimeQuery& query, const RuntimeConstants& constants) {
  const FabricConstants& fabric = constants.of(query.fabric);
  switch (query.protocol) {
    case NcclProtocol::ll:
      return fabric.ll_us;
    case NcclProtocol::ll128:
      return (fabric.ll_us + fabric.simple_us) / 2;
    case NcclProtocol::simple:
      break;
  }
  return fabric.simple_us;
}

/// Steps of a ring: a broadcast passes every rank with as many parts of the message as there are ranks.
std::int64_t ring_steps(const CollectiveCall& call, std::int64_t ranks) {
  switch (call.kind) {
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return ranks - 1;
    case CollectiveKind::all_reduce:
      return 2 * (ranks - 1);
    case CollectiveKind::broadcast:
      return ranks;
  }
  unreachable("a kind of collective");
}

RuntimeEstimate ring(const RuntimeQuery& query, const RuntimeConstants& constants) {
  const Hops hops = hops_of(query, constants);
  const std::int64_t passes = query.call.kind == CollectiveKind::all_reduce ? 2 : 1;
  RuntimeEstimate estimate;
  estimate.steps = ring_steps(query.call, query.ranks);
  const double steps = as_double(estimate.steps);
  const double crossings = as_double(passes * (query.nodes - 1));
  const double share = as_double(query.call.bytes.count()) / as_double(query.ranks);
  const bool simple = query.protocol == NcclProtocol::simple;

  estimate.start_us = hops.start_us;
  estimate.steps_us = (steps - crossings) * hops.inside_us + crossings * crossing_us(query, constants);
  estimate.link_rate = query.edge_rate;
  const double link_steps = simple ? steps + hops.loss : flags_of(query.protocol) * steps;
  const double cta_steps = simple ? steps + 1 : steps + constants.low_latency_extra_steps;
  estimate.work_bytes = share * link_steps;
  estimate.cta_rate = as_double(query.ctas) * hops.per_cta * link_steps / cta_steps;
  estimate.per_cta = hops.per_cta;
  return estimate;
}

RuntimeEstimate tree(const RuntimeQuery& query, const RuntimeConstants& constants) {
  const Hops hops = hops_of(query, constants);
  const std::int64_t chain = query.ranks / query.nodes - 1;
  RuntimeEstimate estimate;
  estimate.start_us = hops.start_us;
  estimate.steps_us =
      2 * as_double(chain) * hops.inside_us + 2 * log2_floor(query.nodes) * crossing_us(query, constants);
  estimate.steps = 2 * chain + 2 * static_cast<std::int64_t>(log2_floor(query.nodes));
  estimate.work_bytes = as_double(query.call.bytes.count()) * flags_of(query.protocol);
  estimate.link_rate = query.edge_rate;
  estimate.per_cta = hops.per_cta;
  const bool simple = query.protocol == NcclProtocol::simple;
  estimate.cta_rate = simple ? unlimited : as_double(query.ctas) * hops.per_cta * flags_of(query.protocol) / 2;
  return estimate;
}

double nvls_fill_us(const RuntimeQuery& query, const RuntimeConstants& constants) {
  const double bytes_per_cta = as_double(query.call.bytes.count()) / as_double(query.ctas);
  return std::min(bytes_per_cta, nvls_fill_bytes) / (constants.nvls_fill_per_cta * bytes_per_us);
}

RuntimeEstimate nvls(const RuntimeQuery& query, const RuntimeConstants& constants) {
  RuntimeEstimate estimate;
  // Reducing and sending on in the switch, a card's links carry the buffer once and its own share again.
  const double passes = query.call.kind == CollectiveKind::all_reduce ? 1 + 1 / as_double(query.ranks) : 1.0;
  estimate.start_us = constants.nvls_start_us + nvls_fill_us(query, constants);
  estimate.work_bytes = as_double(query.call.bytes.count()) * passes;
  estimate.link_rate = constants.of(host_family(query.compute_capability)).nvls_efficiency * query.edge_rate;
  estimate.cta_rate = unlimited;
  return estimate;
}

RuntimeEstimate nvls_tree(const RuntimeQuery& query, const RuntimeConstants& constants) {
  RuntimeEstimate estimate;
  const double passes = 1 + as_double(query.nodes) / as_double(query.ranks);
  const double inside = constants.of(host_family(query.compute_capability)).nvls_efficiency * query.edge_rate / passes;
  estimate.start_us = constants.nvls_tree_start_us + nvls_fill_us(query, constants);
  estimate.steps = 2 * static_cast<std::int64_t>(log2_floor(query.nodes));
  estimate.steps_us = as_double(estimate.steps) * crossing_us(query, constants);
  estimate.work_bytes = as_double(query.call.bytes.count());
  estimate.link_rate = std::min(inside, query.network_rate);
  estimate.cta_rate = unlimited;
  if (query.network_rate < inside) estimate.limit = RuntimeLimit::network;
  return estimate;
}

}  // namespace

void RingHops::add(HopKind kind) {
  switch (kind) {
    case HopKind::nvlink: ++nvlink; return;
    case HopKind::p2p: ++p2p; return;
    case HopKind::shm: ++shm; return;
    case HopKind::net: ++net; return;
  }
}

double RuntimeEstimate::time_us() const {
  return fixed_us() + work_bytes / (std::min(link_rate, cta_rate) * bytes_per_us);
}

RuntimeEstimate estimate_runtime(const RuntimeQuery& query, const RuntimeConstants& constants) {
  expects(query.ranks >= 2 && query.ctas >= 1 && query.edge_rate > 0.0, "a collective has ranks, CTAs and links");
  RuntimeEstimate estimate;
  switch (query.algorithm) {
    case NcclAlgorithm::tree:
      estimate = tree(query, constants);
      break;
    case NcclAlgorithm::nvls:
      estimate = nvls(query, constants);
      break;
    case NcclAlgorithm::nvls_tree:
      estimate = nvls_tree(query, constants);
      break;
    default:
      estimate = ring(query, constants);
      break;
  }
  estimate.start_us += constants.of(host_family(query.compute_capability)).base_us;
  estimate.start_us *= query.latency;
  estimate.steps_us *= query.latency;
  estimate.link_rate *= query.rate;
  estimate.cta_rate *= query.rate;
  estimate.per_cta *= query.rate;
  if (estimate.cta_rate < estimate.link_rate) estimate.limit = RuntimeLimit::ctas;
  return estimate;
}

}  // namespace takt
