#include "metrics/copy_rates.hpp"

#include "base/contract.hpp"
#include "engine/max_min.hpp"

#include <limits>
#include <map>

namespace takt {
namespace {

std::vector<LinkId> links_of(const Topology& topology, const Transfer& transfer) {
  const auto card = [&](std::int64_t number) {
    const auto position = static_cast<std::size_t>(number);
    expects(position < topology.cards().size(), "a transfer joins cards of the topology");
    return topology.cards()[position].vertex;
  };
  if (transfer.from == Transfer::host) {
    const std::optional<Route> route = topology.from_host_memory(card(transfer.to));
    return route ? route->links : std::vector<LinkId>{};
  }
  if (transfer.to == Transfer::host) {
    const std::optional<Route> route = topology.to_host_memory(card(transfer.from));
    return route ? route->links : std::vector<LinkId>{};
  }
  return topology.card_route(card(transfer.from), card(transfer.to)).route.links;
}

}  // namespace

std::vector<Bandwidth> copy_rates(const Topology& topology, std::span<const Transfer> transfers) {
  MaxMinProblem problem;
  std::map<ResourceId, std::uint32_t> positions;
  std::vector<std::map<ResourceId, double>> demands;
  for (const Transfer& transfer : transfers) {
    std::map<ResourceId, double>& crossed = demands.emplace_back();
    for (const LinkId id : links_of(topology, transfer)) {
      const Link& link = topology.link(id);
      crossed[link.resource] += 1.0;
      if (link.both_directions) crossed[*link.both_directions] += 1.0;
    }
    for (const auto& [resource, crossings] : crossed) {
      if (positions.count(resource) > 0) continue;
      positions[resource] = problem.add_resource(topology.resources()[index(resource)].capacity);
    }
  }
  for (const std::map<ResourceId, double>& crossed : demands) {
    // Without a link there is no rate; a cap of 0 would not be positive, so the transfer is left out.
    if (crossed.empty()) continue;
    problem.begin_activity(1.0, std::numeric_limits<double>::infinity());
    for (const auto& [resource, crossings] : crossed) problem.add_use(positions.at(resource), crossings);
  }
  problem.solve();
  std::vector<Bandwidth> rates;
  std::size_t solved = 0;
  for (const std::map<ResourceId, double>& crossed : demands) {
    rates.emplace_back(crossed.empty() ? 0.0 : problem.rate[solved++]);
  }
  return rates;
}

}  // namespace takt
