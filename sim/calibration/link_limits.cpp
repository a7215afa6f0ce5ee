#include "calibration/link_limits.hpp"

#include "calibration/copy_routes.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <set>

namespace takt {
namespace {

constexpr double giga = 1e9;
constexpr double let_pass = 1.05;  ///< times what nominal rates allow

/// The most that some rows can reach, and a link that tells it.
struct Limit {
  double rate = std::numeric_limits<double>::infinity();
  std::optional<LinkId> link;
};

double most(const Link& link) {
  return std::max(link.nominal.count(), link.effective.count());
}

bool is_nvlink(const Link& link) {
  return link.kind == LinkKind::nvlink || link.kind == LinkKind::nvswitch;
}

std::optional<Diagnostic> beyond(const Measurement& one, double rate, const Limit& limit, const Topology& topology) {
  if (!limit.link || rate <= let_pass * limit.rate) return std::nullopt;
  const Link& link = topology.link(*limit.link);
  const bool is_collective = one.kind == MeasuredKind::collective;
  const std::string row = is_collective ? fmt::format("the busbw of {} over {} cards", one.what, one.shape[0])
                                        : fmt::format("what {} moves", one.what);
  return Diagnostic{Severity::error, one.place,
                    fmt::format("{} is {:.4g} GB/s, and {} -> {} ({}, nominal {:.4g} GB/s) allows {:.4g} GB/s", row,
                                rate / giga, topology.device(topology.link_source(*limit.link)).name,
                                topology.device(topology.link_target(*limit.link)).name, link.type, most(link) / giga,
                                limit.rate / giga),
                    fmt::format("check the bytes, value and unit of the row, and whether {} is the machine that was "
                                "measured",
                                topology.id())};
}

Limit limit_of_copies(const Topology& topology, const std::vector<Transfer>& transfers) {
  std::map<LinkId, std::size_t> crossings;
  for (const Transfer& transfer : transfers) {
    for (const LinkId link : links_of(topology, transfer)) ++crossings[link];
  }
  Limit limit;
  for (const auto& [id, count] : crossings) {
    const Link& link = topology.link(id);
    const double rate = static_cast<double>(transfers.size()) * most(link) / static_cast<double>(count);
    if (link.kind != LinkKind::memory && rate < limit.rate) limit = {rate, id};
  }
  return limit;
}

std::optional<Diagnostic> impossible_copy(const Topology& topology, const Measurement& one) {
  const auto transfers = transfers_in(one.what);
  const auto cards = static_cast<std::int64_t>(topology.cards().size());
  const auto is_here = [cards](const Transfer& transfer) { return std::max(transfer.from, transfer.to) < cards; };
  if (!transfers || !std::all_of(transfers->begin(), transfers->end(), is_here)) return std::nullopt;
  const double rate = one.bytes() * static_cast<double>(transfers->size()) / one.seconds;
  return beyond(one, rate, limit_of_copies(topology, *transfers), topology);
}

/// Of some cards: how many groups they fall into, and whether these are single cards of one NVLink domain.
struct Groups {
  std::size_t count = 0;
  bool share_nvlink = false;
  bool is_switched = false;
};

Groups groups_of(const Topology& topology, const std::set<VertexId>& members) {
  std::size_t joined = 0, domains = 0;
  for (const NvlinkDomain& domain : topology.nvlink_domains()) {
    const auto inside = static_cast<std::size_t>(
        std::count_if(domain.cards.begin(), domain.cards.end(), [&](VertexId card) { return members.count(card) > 0; }));
    if (inside == members.size()) return {members.size(), true, domain.switched};
    joined += inside;
    if (inside > 0) ++domains;
  }
  return {members.size() - joined + domains, false, false};
}

Limit limit_of_collective(const Topology& topology, const Measurement& one) {
  std::set<VertexId> members;
  for (std::size_t card = 0; card < static_cast<std::size_t>(one.shape[0]); ++card)
    members.insert(topology.cards()[card].vertex);
  const Groups groups = groups_of(topology, members);
  Limit limit{0.0, std::nullopt};
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const auto id = static_cast<LinkId>(i);
    const Link& link = topology.link(id);
    const VertexId target = topology.link_target(id);
    const bool is_stranger = topology.device(target).kind == DeviceKind::card && members.count(target) == 0;
    if (members.count(topology.link_source(id)) == 0 || is_stranger || is_nvlink(link) != groups.share_nvlink) continue;
    limit.rate += most(link);
    if (!limit.link) limit.link = id;
  }
  const auto ranks = static_cast<double>(members.size());
  limit.rate *= (ranks - 1.0) / ranks / static_cast<double>(groups.count - 1);
  if (groups.is_switched && one.what == "all_reduce") limit.rate *= 2.0;
  return limit;
}

std::optional<Diagnostic> impossible_collective(const Topology& topology, const Measurement& one) {
  const bool reduces_to_all = one.what == "all_reduce";
  const bool is_known = reduces_to_all || one.what == "all_gather" || one.what == "reduce_scatter";
  const auto cards = static_cast<std::int64_t>(topology.cards().size());
  if (!is_known || one.shape[0] < 2 || one.shape[0] > cards) return std::nullopt;
  const auto ranks = static_cast<double>(one.shape[0]);
  const double busbw = (reduces_to_all ? 2.0 : 1.0) * (ranks - 1.0) / ranks * one.bytes() / one.seconds;
  return beyond(one, busbw, limit_of_collective(topology, one), topology);
}

}  // namespace

Diagnostics beyond_links(const ServerSpec& server, const std::map<std::string, CardSpec>& cards,
                         const std::vector<Measurement>& measured) {
  const Result<Topology> direct = topology_of_copies(server, cards, PeerCopies::direct);
  if (!direct) return direct.diagnostics();
  const Result<Topology> staged = topology_of_copies(server, cards, PeerCopies::staged);
  if (!staged) return staged.diagnostics();
  Diagnostics errors;
  for (const Measurement& one : measured) {
    std::optional<Diagnostic> error;
    if (one.kind == MeasuredKind::copy) error = impossible_copy(*direct, one);
    if (one.kind == MeasuredKind::staged) error = impossible_copy(*staged, one);
    if (one.kind == MeasuredKind::collective) error = impossible_collective(*direct, one);
    if (error) errors.push_back(*error);
  }
  return errors;
}

}  // namespace takt
