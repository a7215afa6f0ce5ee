#include "metrics/cost.hpp"

#include <set>

namespace takt {

PricedMachine priced_machine(const std::vector<CardInstance>& cards, const Topology& topology) {
  PricedMachine machine;
  std::set<std::int32_t> servers;
  for (const CardInstance& card : cards) {
    servers.insert(card.server);
    machine.card_limits += topology.card_spec(card).tdp;
  }
  machine.cards = static_cast<std::int64_t>(cards.size());
  machine.servers = static_cast<std::int64_t>(servers.size());
  return machine;
}

std::optional<CostMetrics> cost_of(const CostSettings& settings, const PricedMachine& machine,
                                   double tokens_per_second) {
  if (!settings.card && !settings.server && !settings.power_price) return std::nullopt;
  constexpr double hours_per_year = 365.25 * 24.0;
  constexpr double watts_per_kilowatt = 1000.0;
  constexpr double seconds_per_hour = 3600.0;
  const auto cards = static_cast<double>(machine.cards), servers = static_cast<double>(machine.servers);
  const double price = cards * settings.card.value_or(0.0) + servers * settings.server.value_or(0.0);
  const double watts = machine.card_limits.count() + servers * settings.server_power.value_or(Power{}).count();

  CostMetrics cost;
  if (settings.years) cost.per_hour += price / (*settings.years * hours_per_year);
  cost.per_hour += watts / watts_per_kilowatt * settings.power_price.value_or(0.0);
  const double tokens_per_hour = tokens_per_second * seconds_per_hour;
  if (tokens_per_hour > 0.0) cost.per_million_tokens = cost.per_hour / tokens_per_hour * 1e6;
  return cost;
}

}  // namespace takt
