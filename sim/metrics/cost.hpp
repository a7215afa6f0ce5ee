// What a million tokens cost on a machine that is written off over some years and pays for its power.
//
//     per hour = (cards * card + servers * server) / (years * 8766 h) + (cards * power limit + servers * draw) * price
//     per million tokens = per hour / (tokens an hour) * 1e6
//
// Cards are counted at their power limit, since a step's real draw is below it by an amount that no data sheet states.
// A server counts whole, even if only some of its cards take part.
#pragma once

#include "metrics/step_metrics.hpp"

#include <optional>

namespace takt {

/// What is bought and draws power.
struct PricedMachine {
  std::int64_t cards = 0;
  std::int64_t servers = 0;  ///< those of the cards
  Power card_limits{};       ///< of all cards together
};

PricedMachine priced_machine(const std::vector<CardInstance>& cards, const Topology& topology);

/// Nothing if the settings have no price.
std::optional<CostMetrics> cost_of(const CostSettings& settings, const PricedMachine& machine,
                                   double tokens_per_second);

}  // namespace takt
