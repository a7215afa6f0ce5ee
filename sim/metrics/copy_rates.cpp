#include "metrics/copy_rates.hpp"

#include "base/contract.hpp"
#include "config/csv.hpp"
#include "engine/max_min.hpp"
#include "metrics/copy_limits.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace takt {
namespace {

using CardPair = std::pair<std::int64_t, std::int64_t>;

/// A transfer with what holds it.
struct Copy {
  std::vector<LinkId> links;
  double cap = std::numeric_limits<double>::infinity();
  std::optional<CardPair> staged_between;  ///< lower number first
};

/// The narrowest PCIe link of a route; infinite without one.
double narrowest_pcie(const Topology& topology, const std::vector<LinkId>& links) {
  double narrowest = std::numeric_limits<double>::infinity();
  for (const LinkId id : links) {
    const Link& link = topology.link(id);
    if (link.kind == LinkKind::pcie) narrowest = std::min(narrowest, link.capacity.count());
  }
  return narrowest;
}

Copy copy_of(const Topology& topology, const Transfer& transfer) {
  const auto card = [&](std::int64_t number) {
    const auto position = static_cast<std::size_t>(number);
    expects(position < topology.cards().size(), "a transfer joins cards of the topology");
    return topology.cards()[position].vertex;
  };
  if (transfer.from == Transfer::host || transfer.to == Transfer::host) {
    const std::optional<Route> route = transfer.from == Transfer::host ? topology.from_host_memory(card(transfer.to))
                                                                       : topology.to_host_memory(card(transfer.from));
    Copy copy;
    if (route) copy.links = route->links;
    return copy;
  }
  const CardRoute& way = topology.card_route(card(transfer.from), card(transfer.to));
  Copy copy;
  copy.links = way.route.links;
  if (way.transport != Transport::host_staged) return copy;
  copy.cap = staged_copy_share * narrowest_pcie(topology, copy.links);
  copy.staged_between = std::minmax(transfer.from, transfer.to);
  return copy;
}

/// The sharing problem of some copies.
class Sharing {
 public:
  Sharing(const Topology& topology, std::span<const Copy> copies) : topology_(topology) {
    std::vector<std::vector<LinkId>> routes;
    for (const Copy& copy : copies) routes.push_back(copy.links);
    blocked_ = blocked_links(topology, routes);
    for (const Copy& copy : copies) demands_.push_back(demands_of(copy));
    for (std::size_t copy = 0; copy < copies.size(); ++copy) add(copies[copy], demands_[copy]);
    problem_.solve();
  }

  /// Of each copy, bytes/s; 0 without a route.
  std::vector<double> rates() const {
    std::vector<double> rates;
    std::size_t solved = 0;
    for (const std::map<std::uint32_t, double>& demands : demands_) {
      rates.push_back(demands.empty() ? 0.0 : problem_.rate[solved++]);
    }
    return rates;
  }

 private:
  std::uint32_t position(ResourceId resource) {
    const auto found = links_.find(resource);
    if (found != links_.end()) return found->second;
    return links_[resource] = problem_.add_resource(topology_.resources()[index(resource)].capacity);
  }

  /// By position in the problem.
  std::map<std::uint32_t, double> demands_of(const Copy& copy) {
    std::map<std::uint32_t, double> demands;
    for (const LinkId id : copy.links) {
      const Link& link = topology_.link(id);
      const auto blocked = blocked_.find(id);
      demands[position(link.resource)] += blocked == blocked_.end() ? 1.0 : 1.0 / blocked->second;
      if (link.both_directions) demands[position(*link.both_directions)] += 1.0;
    }
    if (copy.staged_between) {
      auto found = staging_.find(*copy.staged_between);
      if (found == staging_.end()) {
        const std::uint32_t buffer = problem_.add_resource(staged_both_directions * copy.cap);
        found = staging_.emplace(*copy.staged_between, buffer).first;
      }
      demands[found->second] += 1.0;
    }
    return demands;
  }

  void add(const Copy& copy, const std::map<std::uint32_t, double>& demands) {
    // Without a link there is no rate; a cap of 0 would not be positive, so the transfer is left out.
    if (demands.empty()) return;
    problem_.begin_activity(1.0, copy.cap);
    for (const auto& [resource, per_byte] : demands) problem_.add_use(resource, per_byte);
  }

  const Topology& topology_;
  std::map<LinkId, double> blocked_;
  MaxMinProblem problem_;
  std::map<ResourceId, std::uint32_t> links_;
  std::map<CardPair, std::uint32_t> staging_;
  std::vector<std::map<std::uint32_t, double>> demands_;
};

std::vector<Copy> copies_of(const Topology& topology, std::span<const Transfer> transfers) {
  std::vector<Copy> copies;
  for (const Transfer& transfer : transfers) copies.push_back(copy_of(topology, transfer));
  return copies;
}

/// A card's number, or the host.
std::optional<std::int64_t> end_of_transfer(std::string_view text) {
  return text == "host" ? Transfer::host : count_in(text);
}

}  // namespace

std::optional<std::vector<Transfer>> transfers_in(std::string_view text) {
  std::vector<Transfer> transfers;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t arrow = word.find('>');
    if (arrow == std::string_view::npos) return std::nullopt;
    const auto from = end_of_transfer(word.substr(0, arrow));
    const auto to = end_of_transfer(word.substr(arrow + 1));
    if (!from || !to || *from == *to) return std::nullopt;
    transfers.push_back({*from, *to});
  }
  if (transfers.empty()) return std::nullopt;
  return transfers;
}

std::string text_of(std::span<const Transfer> transfers) {
  const auto end = [](std::int64_t card) { return card == Transfer::host ? "host" : std::to_string(card); };
  std::string text;
  for (const Transfer& one : transfers) text += (text.empty() ? "" : " ") + end(one.from) + '>' + end(one.to);
  return text;
}

std::vector<Bandwidth> copy_rates(const Topology& topology, std::span<const Transfer> transfers) {
  std::vector<Bandwidth> rates;
  for (const double rate : Sharing(topology, copies_of(topology, transfers)).rates()) rates.emplace_back(rate);
  return rates;
}

Bandwidth throughput_of_equal_copies(const Topology& topology, std::span<const Transfer> transfers) {
  std::vector<Copy> going = copies_of(topology, transfers);
  std::vector<double> left(going.size(), 1.0);  // of each copy's bytes
  double seconds = 0.0;                         // a copy of one byte
  while (!going.empty()) {
    const std::vector<double> rates = Sharing(topology, going).rates();
    double next_end = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < going.size(); ++i) {
      if (rates[i] <= 0.0) return Bandwidth(0.0);
      next_end = std::min(next_end, left[i] / rates[i]);
    }
    seconds += next_end;
    constexpr double rounding = 1e-9;  // what is left of a copy that ended
    std::size_t kept = 0;
    for (std::size_t i = 0; i < going.size(); ++i) {
      const double rest = left[i] - rates[i] * next_end;
      if (rest <= rounding) continue;
      if (kept != i) going[kept] = std::move(going[i]);
      left[kept++] = rest;
    }
    going.resize(kept);
    left.resize(kept);
  }
  return Bandwidth(static_cast<double>(transfers.size()) / seconds);
}

}  // namespace takt
